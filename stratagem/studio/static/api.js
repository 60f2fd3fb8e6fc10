// Talking to the server: JSON over HTTP, and one websocket a game that comes back by itself.
async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The studio does not answer. Is it still running?");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(content.error || `The studio answered ${answer.status}.`);
  return content;
}

export const get = (path) => ask(path);
export const post = (path, content) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });

let known = null;
export const catalogue = () => (known ??= get("/api/catalogue").catch((error) => { known = null; throw error; }));

export class Connection {
  constructor(game, tokens, listen) {
    Object.assign(this, { game, tokens, listen, closed: false, wait: 300 });
    this.open();
  }
  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket.onopen = () => {
      this.wait = 300;
      this.say({ type: "join", game: this.game, tokens: this.tokens });
    };
    this.socket.onmessage = (event) => this.listen(JSON.parse(event.data));
    this.socket.onclose = () => {
      if (this.closed) return;
      this.listen({ type: "lost" });
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(this.wait * 2, 5000);
    };
  }
  say(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
