-- A breaker as it stands, and the server's time in milliseconds. First a write that changes nothing: a replica, or a
-- server that is out of memory or cannot save, says so now, and not when a run is over. KEYS: breaker.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SETRANGE', KEYS[1], 0, '')
elseif redis.call('HEXISTS', KEYS[1], 'state') == 1 then
  redis.call('HSETNX', KEYS[1], 'state', '')
end
local time = redis.call('TIME')
return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGETALL', KEYS[1])}
