-- Functions with known shares of time, in short turns; the script adds up how long each really took.
-- Prints `LINE SHARE` for each, LINE being where it is defined. The argument: rounds of a millisecond.

local function spin(seconds)
  local start = now()
  local x = 0
  repeat
    for i = 1, 200 do x = x + i % 7 end
  until now() - start >= seconds
  return x
end
-- Each has a loop of its own, so that the time is its and not a callee's.
local function half(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end
local function third(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end
local function rest(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end

local function calibrate(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end

spin(0.01)
-- How many turns take a millisecond here.
local start, turns = now(), 0
repeat calibrate(1000); turns = turns + 1000 until now() - start >= 0.05
local per_ms = turns / ((now() - start) * 1000)

local functions = {
  { half, 13, 50 }, { third, 18, 30 }, { rest, 23, 20 },
}
local took, whole = {}, 0
for round = 1, tonumber(arg[1]) do
  for i, f in ipairs(functions) do
    local before = now()
    -- Errors and coroutines in between must not leave a wrong tag behind.
    if round % 7 == 0 then pcall(error, "caught") end
    if round % 11 == 0 then coroutine.wrap(function() coroutine.yield() end)() end
    f[1](per_ms * f[3] // 100)
    local time = now() - before
    took[i] = (took[i] or 0) + time
    whole = whole + time
  end
end
for i, f in ipairs(functions) do print(f[2], took[i] / whole) end
