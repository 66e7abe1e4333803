// Times Perfetto's trace processor (the WebAssembly engine of a copy of its user interface) on trace files.
//   node perfetto.js FOLDER FILE...     prints {"seconds": ...} for reading all files and finishing
"use strict";
const fs = require("fs");
const path = require("path");
const proc = process;
const [folder, ...files] = proc.argv.slice(2);

// The engine's bundle expects a web worker: globals that it looks at, and file access by URL.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
Object.defineProperty(globalThis, "process", { value: undefined, configurable: true, writable: true });
const local = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
globalThis.fetch = async (url) => new Response(local(url), { headers: { "content-type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = local(this.url);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    if (this.onload) this.onload();
  }
};
console.warn = () => {};

// Requests are protobuf messages: TraceProcessorRpcStream { repeated TraceProcessorRpc msg = 1 }.
function number(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  bytes.push(value);
  return Buffer.from(bytes);
}
const field = (id, bytes) => Buffer.concat([number(id * 8 + 2), number(bytes.length), bytes]);
const plain = (id, value) => Buffer.concat([number(id * 8), number(value)]);
const APPEND = 1;
const FINISH = 2;
const STATUS = 10;
let sequence = 0;
let answered = () => {};
const port = { onmessage: null, postMessage: () => answered() };
function ask(request, body = Buffer.alloc(0)) {
  const message = field(1, Buffer.concat([plain(1, sequence++), plain(2, request), body]));
  return new Promise((resolve) => {
    answered = resolve;
    port.onmessage({ data: new Uint8Array(message) });
  });
}

async function ready() {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  for (let tries = 0; tries < 400; tries++) {
    await pause(25);
    try {
      sequence = 0;
      if (port.onmessage && (await Promise.race([ask(STATUS).then(() => true), pause(500)]))) return;
    } catch {
      // The engine is not loaded yet.
    }
  }
  throw new Error("the engine does not start");
}

(async () => {
  const script = path.join(folder, "engine_bundle.js");
  require("vm").runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });
  globalThis.onmessage({ data: port });
  await ready();
  const begin = performance.now();
  const piece = Buffer.alloc(32 << 20);
  for (const name of files) {
    const file = fs.openSync(name, "r");
    for (let size; (size = fs.readSync(file, piece, 0, piece.length)) > 0; ) {
      await ask(APPEND, field(101, piece.subarray(0, size)));
    }
    fs.closeSync(file);
  }
  await ask(FINISH);
  console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000 }));
  proc.exit(0);
})().catch((error) => {
  console.error(String(error));
  proc.exit(1);
});
