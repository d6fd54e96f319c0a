/* Search from file://. A browser starts no worker from a file, so the search runs in a hidden frame, which speaks as a
   worker does: a message in, a message out, and importScripts. On a server the browser's own workers are used. */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      // In the head: the body is not there yet when the first worker is wanted, and a frame needs no place.
      (document.body || document.documentElement).appendChild(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.heard(data);
      inner.importScripts = (...scripts) => scripts.reduce((done, script) => done.then(() => this.load(script)), Promise.resolve());
      this.load(String(url)).then(() => {
        this.isLoaded = true;
        this.waiting.splice(0).forEach((data) => this.say(data));
      });
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const inner = this.frame.contentDocument;
        const script = inner.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = resolve;
        script.onerror = reject;
        inner.documentElement.appendChild(script);
      });
    }

    postMessage(data) {
      if (this.isLoaded) this.say(data);
      else this.waiting.push(data);
    }

    say(data) {
      const inner = this.frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data: data }));
    }

    heard(data) {
      const event = new MessageEvent("message", { data: data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
