// Answers requests that come by standard input, by standard output: node node.mjs LIBRARY MARK
// Each request has its length before it, in 8 bytes, and so has each answer, after a line with the mark: what else is
// written to standard output, by WebAssembly say, is told from answers by that.
import { readSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { answering } from './session.mjs';

const CHUNK = 1 << 26;

function read(count) {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; ) {
    const got = readSync(0, bytes, at, Math.min(CHUNK, count - at));
    if (got === 0) process.exit(0);
    at += got;
  }
  return bytes;
}

function write(bytes) {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(1, bytes, at, Math.min(CHUNK, bytes.byteLength - at));
}

const [library, mark] = process.argv.slice(2);
const imported = await import(pathToFileURL(library));
const answer = answering(imported.InferenceSession ? imported : imported.default);
for (;;) {
  const request = read(Number(new DataView(read(8).buffer).getBigUint64(0, true)));
  const answered = await answer(request);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(answered.byteLength), true);
  write(new TextEncoder().encode(`\n${mark}\n`));
  write(length);
  write(answered);
}
