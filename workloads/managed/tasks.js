// Tasks of a scripting language: text, objects, closures, exceptions, recursion, numbers.
var scale = Number(scriptArgs[0] || 1);

var seed = 2005;
function below(n) {
  // Products stay below 2^53.
  seed = (seed * 69069 + 12345) % 2147483648;
  return Math.floor(seed / 256) % n;
}

function checksum(text) {
  var sum = 17;
  for (var i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) % 1000003;
  return sum;
}

// Text: words are made, counted, sorted, and replaced by patterns.
function makeWord() {
  var word = "";
  for (var n = 2 + below(6); n > 0; n--) word += String.fromCharCode(97 + below(26));
  return word;
}
function words() {
  var made = [], count = {}, heads = [];
  for (var i = 0; i < 40 * scale; i++) made.push(makeWord());
  var text = made.join(" ");
  text.split(" ").forEach(function tally(word) {
    var head = word.substring(0, 1);
    count[head] = (count[head] || 0) + 1;
  });
  for (var head in count) heads.push(head);
  heads.sort(function order(a, b) { return count[b] - count[a] || (a < b ? -1 : 1); });
  var changed = text.replace(/([a-m])([a-z])/g, "$2$1");
  print("words", text.length, heads.length, heads[0], count[heads[0]], checksum(changed));
}

// Objects: accounts that inherit, with methods that are looked up, and refusals that are thrown.
function Account(amount) { this.amount = amount; this.moves = 0; }
Account.prototype.fee = function fee(n) { return 0; };
Account.prototype.move = function move(n) {
  if (this.amount + n < 0) throw new Error("refused");
  this.amount += n - this.fee(n);
  this.moves++;
};
function Giro(amount) { Account.call(this, amount); }
Giro.prototype = new Account(0);
Giro.prototype.fee = function giroFee(n) { return n < 0 ? 1 : 0; };
function accounts() {
  var all = [], refused = 0, total = 0, i;
  for (i = 0; i < 20; i++) all.push(i % 2 ? new Giro(below(200)) : new Account(below(200)));
  for (i = 0; i < 150 * scale; i++) {
    try {
      all[below(all.length)].move(below(200) - 110);
    } catch (error) {
      refused++;
    }
  }
  all.forEach(function add(account) { total += account.amount + account.moves; });
  print("accounts", total, refused);
}

// A recursive parser and evaluator of expressions.
function parse(text) {
  var at = 0;
  function factor() {
    if (text.charAt(at) === "(") {
      at++;
      var inner = expression();
      at++;
      return inner;
    }
    var from = at;
    while (at < text.length && text.charAt(at) >= "0" && text.charAt(at) <= "9") at++;
    return Number(text.substring(from, at));
  }
  function chain(next, operators) {
    var left = next();
    while (at < text.length && operators.indexOf(text.charAt(at)) >= 0) {
      var operator = text.charAt(at++);
      left = [operator, left, next()];
    }
    return left;
  }
  function term() { return chain(factor, "*%"); }
  function expression() { return chain(term, "+-"); }
  return expression();
}
function evaluate(node) {
  if (typeof node === "number") return node;
  var a = evaluate(node[1]), b = evaluate(node[2]);
  switch (node[0]) {
    case "+": return (a + b) % 10007;
    case "-": return a - b;
    case "*": return a * b % 10007;
    default: return a % (1 + Math.abs(b));
  }
}
function makeExpression(depth) {
  if (depth === 0 || below(8) === 0) return String(below(1000));
  return "(" + makeExpression(depth - 1) + "+-*%".charAt(below(4)) + makeExpression(depth - 1) + ")";
}
function expressions() {
  var sum = 0, bytes = 0;
  for (var i = 0; i < 2 * scale; i++) {
    var text = makeExpression(4);
    bytes += text.length;
    sum = (sum + evaluate(parse(text))) % 1000003;
  }
  print("expressions", bytes, sum);
}

// Numbers: a sieve and a matrix.
function sieve(limit) {
  var composite = [], primes = 0;
  for (var i = 0; i <= limit; i++) composite.push(false);
  for (i = 2; i <= limit; i++) {
    if (composite[i]) continue;
    primes++;
    for (var j = i * i; j <= limit; j += i) composite[j] = true;
  }
  return primes;
}
function multiply(m, size) {
  var product = [];
  for (var i = 0; i < size; i++) {
    var row = [];
    for (var j = 0; j < size; j++) {
      var sum = 0;
      for (var k = 0; k < size; k++) sum += m[i][k] * m[k][j];
      row.push(sum);
    }
    product.push(row);
  }
  return product;
}
function numbers() {
  var size = 8, m = [], trace = 0, i, j;
  for (i = 0; i < size; i++) {
    m.push([]);
    for (j = 0; j < size; j++) m[i].push((i + 2 * j) % 5 + (i === j ? 1 : 0));
  }
  for (var round = 0; round < scale; round++) {
    var product = multiply(m, size);
    for (i = 0; i < size; i++) trace += product[i][i];
  }
  print("numbers", sieve(400 * scale), trace);
}

// Queens on a board of five by five.
function place(row, size, columns, up, down) {
  if (row === size) return 1;
  var found = 0;
  for (var column = 0; column < size; column++) {
    var u = row + column, d = row - column + size;
    if (columns[column] || up[u] || down[d]) continue;
    columns[column] = up[u] = down[d] = true;
    found += place(row + 1, size, columns, up, down);
    columns[column] = up[u] = down[d] = false;
  }
  return found;
}
function queens() { print("queens", place(0, 5, [], [], [])); }

words();
accounts();
expressions();
numbers();
queens();
