-- Tasks of a scripting language: text, tables, closures, objects, coroutines, numbers.
local scale = tonumber(arg[1]) or 1

local seed = 2005
local function below(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n
end

local function checksum(text)
  local sum = 17
  for i = 1, #text do sum = (sum * 31 + text:byte(i)) % 1000000007 end
  return sum
end

-- Text: words are made, counted, sorted, and replaced by patterns.
local function words()
  local made = {}
  for i = 1, 150 * scale do
    local word = {}
    for j = 1, 2 + below(6) do word[j] = string.char(97 + below(26)) end
    made[i] = table.concat(word)
  end
  local text = table.concat(made, " ")
  local count = {}
  for word in text:gmatch("%a+") do
    local head = word:sub(1, 2)
    count[head] = (count[head] or 0) + 1
  end
  local heads = {}
  for head in pairs(count) do heads[#heads + 1] = head end
  table.sort(heads, function(a, b)
    if count[a] ~= count[b] then return count[a] > count[b] end
    return a < b
  end)
  local changed, n = text:gsub("(%a)(%a)(%a+)", function(a, b, rest) return b .. rest:reverse() .. a end)
  print("words", #text, #heads, heads[1], count[heads[1]], n, checksum(changed))
end

-- Objects: accounts of classes that inherit, with methods that are looked up.
local function class(base)
  local methods = setmetatable({}, base and { __index = base })
  methods.__index = methods
  return methods
end
local Account = class()
function Account.new(kind, amount) return setmetatable({ amount = amount, log = {} }, kind) end
function Account:fee(_) return 0 end
function Account:move(n)
  self.amount = self.amount + n - self:fee(n)
  self.log[#self.log % 16 + 1] = n
  return self.amount
end
local Giro = class(Account)
function Giro:fee(n) return n < 0 and 1 or 0 end
local Savings = class(Account)
function Savings:move(n)
  if self.amount + n < 0 then return nil, "refused" end
  return Account.move(self, n)
end
local function accounts()
  local all, refused = {}, 0
  for i = 1, 50 do all[i] = Account.new(i % 3 == 0 and Savings or i % 3 == 1 and Giro or Account, below(1000)) end
  for _ = 1, 600 * scale do
    local ok = all[1 + below(#all)]:move(below(200) - 100)
    if not ok then refused = refused + 1 end
  end
  local total = 0
  for _, account in ipairs(all) do total = total + account.amount end
  print("accounts", total, refused)
end

-- A recursive parser and evaluator of expressions.
local function parse(text)
  local at = 1
  local expression
  local function peek() return text:sub(at, at) end
  local function factor()
    if peek() == "(" then
      at = at + 1
      local inner = expression()
      at = at + 1
      return inner
    end
    local from, to = text:find("^%d+", at)
    at = to + 1
    return { "n", tonumber(text:sub(from, to)) }
  end
  local function chain(next, operators)
    local left = next()
    while operators[peek()] do
      local operator = peek()
      at = at + 1
      left = { operator, left, next() }
    end
    return left
  end
  local function term() return chain(factor, { ["*"] = true, ["%"] = true }) end
  function expression() return chain(term, { ["+"] = true, ["-"] = true }) end
  return expression()
end
local evaluate = {
  n = function(node) return node[2] end,
}
local function value(node) return evaluate[node[1]](node) end
evaluate["+"] = function(node) return value(node[2]) + value(node[3]) end
evaluate["-"] = function(node) return value(node[2]) - value(node[3]) end
evaluate["*"] = function(node) return value(node[2]) * value(node[3]) % 10007 end
evaluate["%"] = function(node) return value(node[2]) % (1 + math.abs(value(node[3]))) end
local function expressions()
  local function make(depth)
    if depth == 0 or below(8) == 0 then return tostring(below(1000)) end
    local operators = { "+", "-", "*", "%" }
    return "(" .. make(depth - 1) .. operators[1 + below(4)] .. make(depth - 1) .. ")"
  end
  local sum, nodes = 0, 0
  for _ = 1, 5 * scale do
    local text = make(6)
    nodes = nodes + #text
    sum = (sum + value(parse(text))) % 1000003
  end
  print("expressions", nodes, sum)
end

-- Coroutines: a pipeline of generators; permutations.
local function pipeline()
  local function permutations(list, n)
    if n == 0 then coroutine.yield(list) end
    for i = 1, n do
      list[n], list[i] = list[i], list[n]
      permutations(list, n - 1)
      list[n], list[i] = list[i], list[n]
    end
  end
  local count, sum = 0, 0
  for _ = 1, scale do
    for list in coroutine.wrap(function() permutations({ 1, 2, 3, 4, 5 }, 5) end) do
      count = count + 1
      sum = (sum * 7 + list[1] * 10 + list[5]) % 1000003
    end
  end
  print("permutations", count, sum)
end

-- Numbers: a sieve, a matrix, an integral.
local function numbers()
  local limit, composite, primes = 1000 * scale, {}, 0
  for i = 2, limit do
    if not composite[i] then
      primes = primes + 1
      for j = i * i, limit, i do composite[j] = true end
    end
  end
  local size, m = 12, {}
  for i = 1, size do
    m[i] = {}
    for j = 1, size do m[i][j] = 1 / (i + j - 1) + (i == j and 1 or 0) end
  end
  local trace = 0
  for _ = 1, scale do
    local product = {}
    for i = 1, size do
      local row = {}
      for j = 1, size do
        local sum = 0
        for k = 1, size do sum = sum + m[i][k] * m[k][j] end
        row[j] = sum
      end
      product[i] = row
    end
    for i = 1, size do trace = trace + product[i][i] end
  end
  print("numbers", primes, string.format("%.9f", trace))
end

-- Queens on a board of six by six, with closures and tables as sets.
local function queens()
  local solutions = 0
  local function place(row, size, columns, up, down)
    if row > size then
      solutions = solutions + 1
      return
    end
    for column = 1, size do
      local u, d = row + column, row - column
      if not (columns[column] or up[u] or down[d]) then
        columns[column], up[u], down[d] = true, true, true
        place(row + 1, size, columns, up, down)
        columns[column], up[u], down[d] = nil, nil, nil
      end
    end
  end
  for _ = 1, (scale + 3) // 4 do place(1, 6, {}, {}, {}) end
  print("queens", solutions)
end

words()
accounts()
expressions()
pipeline()
numbers()
queens()
