// The page that adds this browser: asks for permission, subscribes, and sends the ordinary form.
"use strict";

(() => {
  const form = document.querySelector("[data-push]");
  if (!form) return;
  const button = form.querySelector("[data-push-start]");
  const says = (name) => {
    for (const line of form.querySelectorAll("[data-says]")) line.hidden = line.dataset.says !== name;
  };
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    says(window.isSecureContext ? "unsupported" : "insecure");
    button.disabled = true;
    return;
  }
  says(Notification.permission === "denied" ? "denied" : "ready");

  const subscribe = async () => {
    if ((await Notification.requestPermission()) !== "granted") return says("denied");
    says("working");
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(form.dataset.push, { method: "POST", headers: { "X-CSRFToken": token } });
    const { key } = await answer.json();
    await navigator.serviceWorker.register("/sw.js", { scope: "/" });
    const worker = await navigator.serviceWorker.ready;
    await (await worker.pushManager.getSubscription())?.unsubscribe();
    const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
    form.elements.endpoint.value = made.endpoint;
    form.elements.p256dh.value = text(made.getKey("p256dh"));
    form.elements.auth.value = text(made.getKey("auth"));
    form.submit();
  };
  form.addEventListener("submit", (event) => {
    if (form.elements.endpoint.value) return;
    event.preventDefault();
    button.disabled = true;
    subscribe().catch(() => says("failed")).finally(() => { button.disabled = false; });
  });
})();
