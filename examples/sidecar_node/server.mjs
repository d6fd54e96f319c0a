// A service that Landfast forwards events to. It proves that they come from Landfast, and makes one order of each,
// however often an event is sent: the key is the same at every try.
import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const SECRET = Buffer.from(process.env.FORWARD_SECRET.replace(/^whsec_/, ""), "base64");
const ORDERS = process.env.ORDERS ?? "orders.ndjson";
const TOLERANCE_SECONDS = 300;

// The keys of what was done before, also by an earlier process. A database would have a unique index instead.
const done = new Set(
  existsSync(ORDERS)
    ? readFileSync(ORDERS, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line).key)
    : [],
);

function isGenuine(headers, body) {
  const id = headers["webhook-id"];
  const at = headers["webhook-timestamp"];
  if (!id || Math.abs(Date.now() / 1000 - Number(at)) > TOLERANCE_SECONDS) return false;
  const wanted = createHmac("sha256", SECRET).update(`${id}.${at}.`).update(body).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ""), "base64");
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

function answer(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!isGenuine(request.headers, body)) return answer(response, 401, { error: "not from Landfast" });
    const key = request.headers["idempotency-key"];
    if (done.has(key)) return answer(response, 200, { order: "was there" });
    const payment = JSON.parse(body).data.object;
    done.add(key);
    appendFileSync(ORDERS, `${JSON.stringify({ key, payment: payment.id, amount: payment.amount })}\n`);
    return answer(response, 201, { order: payment.id });
  });
});

server.listen(Number(process.env.PORT ?? 8430), "127.0.0.1");
