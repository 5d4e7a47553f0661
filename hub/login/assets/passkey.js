// The only script of these pages: WebAuthn cannot be spoken without one.
"use strict";
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  async function send(url, csrf, body) {
    const headers = { "Axle-Csrf": csrf };
    if (body) headers["Content-Type"] = "application/json";
    const answer = await fetch(url, { method: "POST", headers, body: body ? JSON.stringify(body) : undefined, credentials: "same-origin" });
    let data = {};
    try { data = await answer.json(); } catch { /* a page, not for scripts */ }
    if (!answer.ok) throw new Error(data.error || "the hub did not answer; load the page again");
    return data;
  }

  const packed = (credential) => {
    const r = credential.response;
    const response = { clientDataJSON: text(r.clientDataJSON) };
    if (r.attestationObject) {
      response.attestationObject = text(r.attestationObject);
      response.transports = r.getTransports ? r.getTransports() : [];
    } else {
      response.authenticatorData = text(r.authenticatorData);
      response.signature = text(r.signature);
      response.userHandle = r.userHandle ? text(r.userHandle) : null;
    }
    return { id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: credential.getClientExtensionResults() };
  };

  async function make(form, csrf) {
    const { publicKey } = await send(form.dataset.options, csrf);
    publicKey.challenge = bytes(publicKey.challenge);
    publicKey.user.id = bytes(publicKey.user.id);
    for (const c of publicKey.excludeCredentials || []) c.id = bytes(c.id);
    return navigator.credentials.create({ publicKey });
  }

  async function use(form, csrf) {
    const { publicKey } = await send(form.dataset.options, csrf);
    publicKey.challenge = bytes(publicKey.challenge);
    for (const c of publicKey.allowCredentials || []) c.id = bytes(c.id);
    return navigator.credentials.get({ publicKey });
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    if (!window.PublicKeyCredential) continue;
    form.hidden = false;
    const problem = form.querySelector("[role=alert]");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = form.querySelector("button");
      const csrf = form.elements.csrf.value;
      button.disabled = true;
      problem.hidden = true;
      try {
        const credential = await (form.dataset.passkey === "make" ? make : use)(form, csrf);
        const { next } = await send(form.action, csrf, packed(credential));
        window.location.assign(next);
      } catch (error) {
        problem.textContent = error.name === "NotAllowedError" ? "no passkey was used" : error.message;
        problem.hidden = false;
        button.disabled = false;
      }
    });
  }
})();
