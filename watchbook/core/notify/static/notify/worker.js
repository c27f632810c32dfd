// Shows notifications. It has no fetch handler and no cache: no page of Watchbook is ever stored by it.
"use strict";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

const read = (event) => {
  try {
    return event.data.json();
  } catch {
    return {};
  }
};

self.addEventListener("push", (event) => {
  const { title, body, url, tag, at } = read(event);
  event.waitUntil(
    self.registration.showNotification(title || "Watchbook", {
      body: body || "",
      tag: tag || undefined,
      renotify: Boolean(tag),
      timestamp: at || Date.now(),
      icon: "/static/notify/app-192.png",
      data: { url },
    }),
  );
});

// Opens the page of the notification. Only addresses of this server: the text of a message opens nothing else.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const home = self.location.origin;
  const wanted = new URL(event.notification.data?.url || "/", home);
  const target = wanted.origin === home ? wanted.href : home;
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((open) => {
      const found = open.find((client) => client.url === target);
      return found ? found.focus() : self.clients.openWindow(target);
    }),
  );
});
