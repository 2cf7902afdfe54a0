// A browser refuses a Worker to a page that is opened as a file. This one runs its script in a hidden frame of the page,
// so that the search works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = []; // messages that came before the script was there
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const start = () => {
        document.body.append(frame);
        this.inside = frame.contentWindow;
        this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = frame.contentDocument.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = () => {
          const first = this.waiting;
          this.waiting = null;
          first.forEach((data) => this.postMessage(data));
        };
        frame.contentDocument.body.append(script);
      };
      if (document.body) start();
      else addEventListener("DOMContentLoaded", start);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
