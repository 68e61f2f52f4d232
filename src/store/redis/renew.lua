-- Prolongs a lease that has not ended, and says whether it did. KEYS: breaker. ARGV: the lease's field, and the
-- length in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
if ends <= now then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], now + ARGV[2])
return 1
