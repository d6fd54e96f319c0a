-- Sends requests of one length from a file, one after the other. They were signed before.
local file, length, last, cycles, first, current, at

function init(args)
  file = assert(io.open(args[1], "rb"))
  length, first, last, cycles = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), args[5] == "1"
  file:seek("set", first)
  at = first
end

function request()
  if at + length <= last then
    current = file:read(length)
    at = at + length
  elseif not cycles then
    wrk.thread:stop()
  elseif last - first > length then
    file:seek("set", first)
    current = file:read(length)
    at = first + length
  end
  return current
end

function done(summary, latency)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.write + e.timeout
  io.write(string.format(
    '{"ok": %d, "failed": %d, "seconds": %f, "p50": %f, "p99": %f}\n',
    summary.requests - e.status, failed, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
