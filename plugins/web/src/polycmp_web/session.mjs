// Answers polycmp's requests in onnxruntime-web, in Node and in a page alike. Requests and answers are bytes: the
// length of a header in 4 bytes, least first; the header, JSON; and the parts whose sizes the header names.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, bool: Uint8Array, int4: Uint8Array, uint4: Uint8Array,
  float16: globalThis.Float16Array ?? Uint16Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
};

function tensorOf(ort, { name, dtype, shape, strings }, part) {
  if (strings !== undefined) return new ort.Tensor('string', strings, shape);
  const kind = ARRAYS[dtype];
  if (kind === undefined) throw new Error(`onnxruntime-web takes no ${dtype}: input '${name}'`);
  return new ort.Tensor(dtype, new kind(part.buffer, 0, part.byteLength / kind.BYTES_PER_ELEMENT), shape);
}

async function open(ort, state, { wasm, options }, [model]) {
  Object.assign(ort.env.wasm, wasm);
  ort.env.logLevel = 'fatal';
  await state.session?.release();
  state.session = undefined;
  state.session = await ort.InferenceSession.create(model, options);
  return [{ inputs: state.session.inputNames, version: ort.env.versions?.web ?? '' }, []];
}

async function run(ort, state, { inputs }, parts) {
  const feeds = Object.fromEntries(inputs.map((input, at) => [input.name, tensorOf(ort, input, parts[at])]));
  const begun = performance.now();
  const results = await state.session.run(feeds);
  const seconds = (performance.now() - begun) / 1000;
  const outputs = [], contents = [];
  for (const [name, { type, dims, data }] of Object.entries(results)) {
    const strings = type === 'string' ? { strings: data } : {};
    outputs.push({ name, dtype: type, shape: dims, ...strings });
    contents.push(type === 'string' ? new Uint8Array() : new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return [{ outputs, seconds }, contents];
}

// An error's message; what WebAssembly throws may be a bare number.
const text = (error) => String(error?.message ?? error);

export function answering(ort) {
  const state = {};
  return async (request) => {
    let header, parts;
    try {
      const length = new DataView(request.buffer, request.byteOffset).getUint32(0, true);
      const asked = JSON.parse(new TextDecoder().decode(request.subarray(4, 4 + length)));
      let at = 4 + length;
      const given = asked.sizes.map((size) => request.slice(at, (at += size)));  // copies, so that they are aligned
      [header, parts] = await { open, run }[asked.command](ort, state, asked, given);
    } catch (error) {
      [header, parts] = [{ error: text(error) }, []];
    }
    const sizes = parts.map((part) => part.byteLength);
    const head = new TextEncoder().encode(JSON.stringify({ ...header, sizes }));
    const answer = new Uint8Array(4 + head.byteLength + sizes.reduce((sum, size) => sum + size, 0));
    new DataView(answer.buffer).setUint32(0, head.byteLength, true);
    answer.set(head, 4);
    let at = 4 + head.byteLength;
    for (const part of parts) {
      answer.set(part, at);
      at += part.byteLength;
    }
    return answer;
  };
}
