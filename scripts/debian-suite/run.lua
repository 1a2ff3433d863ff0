local t = {} for i = 1, 200000 do t[i % 1013] = (t[i % 1013] or 0) + i * i % 7 end
local s = 0 for k, v in pairs(t) do s = s + k * v end print(s)
print(("x"):rep(5), ("hello world"):gsub("o", "0"), string.format("%.3f", math.sqrt(2)))
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end print(fib(22))
