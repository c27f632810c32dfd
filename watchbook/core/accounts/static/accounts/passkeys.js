// Passkeys: the library does the talking with the browser; this file binds it to our forms and shows its errors.
(function () {
  "use strict";
  const forms = window.allauth && window.allauth.webauthn ? window.allauth.webauthn.forms : null;
  document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    const place = document.querySelector("[data-passkey-error]");
    if (place) place.hidden = false;
  });
  if (!forms || !window.PublicKeyCredential) return;
  const bind = {
    add: (button) => forms.addForm({
      ids: { add: button.id, passwordless: "id_passwordless", credential: "id_credential", data: "js_data" },
    }),
    authenticate: (button) => forms.authenticateForm({
      ids: { authenticate: button.id, credential: "id_credential", data: "js_data" },
    }),
    login: (button) => forms.loginForm({ ids: { login: button.id, credential: "id_credential" } }),
  };
  document.querySelectorAll("[data-passkey]").forEach((button) => {
    button.hidden = false;
    bind[button.dataset.passkey](button);
  });
})();
