-- Counts something that changes nothing else, so it needs no comparison. In the history, an entry with the same mark
-- as the last one takes its place, and its count. KEYS: breaker, history. ARGV: the entry, its mark, the longest length.
if redis.call('HEXISTS', KEYS[1], 'stamp') == 0 then
  return 0
end
local count = 1
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if last and last[2][3] == 'mark' and last[2][4] == ARGV[2] then
  count = last[2][6] + 1
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', 'entry', ARGV[1], 'mark', ARGV[2], 'count', count)
if count > 1 then
  redis.call('XDEL', KEYS[2], last[1])
end
return redis.call('HINCRBY', KEYS[1], 'refused', 1)
