// Steps through a replay: frames are fetched as they are needed and kept.
import { get } from "../api.js";
import { makeBoard } from "../boards/index.js";
import { SEATS } from "../dom.js";

const CHUNK = 50;

export class Viewer {
  constructor(facts, place, context = {}) {
    Object.assign(this, { facts, place, turn: 0, seat: null, frames: new Map(), board: null, wanted: 0 });
    this.context = { facts, names: facts.players.map((name, seat) => (name === "human" ? SEATS[seat] : name)), act() {}, actWords() {}, say() {}, queue() {}, ...context };
  }

  async frame(turn) {
    const name = `${this.seat}:${turn}`;
    if (!this.frames.has(name)) {
      const first = Math.floor(turn / CHUNK) * CHUNK, seat = this.seat;
      const found = await get(`/api/replays/${this.facts.id}/frames?first=${first}&count=${CHUNK}${seat === null ? "" : `&seat=${seat}`}`);
      for (const one of found) this.frames.set(`${seat}:${one.turn}`, one);
    }
    return this.frames.get(name);
  }

  // Where the next step goes from, even while the frames of the last one are on their way.
  aim(turn) { return (this.wanted = Math.max(0, Math.min(this.facts.turns, turn))); }

  async go(turn, extra = {}) {
    this.aim(turn);
    const number = (this.number = (this.number || 0) + 1);
    const frame = await this.frame(this.wanted);
    if (number !== this.number) return null;
    this.turn = frame.turn;
    this.building ??= makeBoard(frame.drawing.kind, this.place, this.context);
    this.board = await this.building;
    if (number !== this.number) return null;
    this.show(frame, extra);
    return frame;
  }

  show(frame, extra) { this.board.show({ turn: frame.turn, drawing: frame.drawing, legal: null, seat: this.seat, last: frame.last, over: frame.turn === this.facts.turns, playing: false, ...extra }); }

  close() {
    this.number = 0;
    this.building?.then((board) => board.destroy());
  }
}
