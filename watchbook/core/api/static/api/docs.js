// Swagger in our page: it gets our settings, sends our CSRF token with what writes, and follows the theme.
"use strict";

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const theme = root.dataset.theme || (system.matches ? "dark" : "light");
    root.classList.toggle("dark-mode", theme === "dark");
  };
  follow();
  system.addEventListener("change", follow);
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-theme"] });

  const place = document.getElementById("swagger-ui");
  const token = place.dataset.csrfToken;
  SwaggerUIBundle({
    ...JSON.parse(document.getElementById("swagger-settings").textContent),
    domNode: place,
    presets: [SwaggerUIBundle.presets.apis],
    requestInterceptor: (request) => {
      if (!["GET", "HEAD", undefined].includes(request.method)) request.headers["X-CSRFToken"] = token;
      return request;
    },
  });
})();
