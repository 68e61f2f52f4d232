-- Sets a breaker if it is still the one that was read; otherwise gives what stands there now, as reading would.
-- KEYS: breaker, history. ARGV: the stamp that was read (empty: none), the new one, the state, an entry for the
-- history (empty: none), the history's longest length, the length of a lease in milliseconds, the field of a lease
-- that begins (empty: none), and the fields of those that end.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if (redis.call('HGET', KEYS[1], 'stamp') or '') ~= ARGV[1] then
  return {now, redis.call('HGETALL', KEYS[1])}
end
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'entry', ARGV[4])
end
redis.call('HSET', KEYS[1], 'stamp', ARGV[2], 'state', ARGV[3])
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[7], now + ARGV[6])
end
for index = 8, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[index])
end
return {now, false}
