// A page from disk may start no worker, which the search wants: a hidden frame does its work. The offline plugin would load another from afar.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inner = frame.contentWindow
      this.ready = new Promise((resolve, reject) => {
        this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
        const script = frame.contentDocument.createElement("script")
        script.onload = resolve
        script.onerror = reject
        script.src = new URL(url, location)
        frame.contentDocument.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.inner.frameElement.remove()
    }
  }
