<?php
$a = []; for ($i = 0; $i < 60000; $i++) { $a[$i % 1009] = ($a[$i % 1009] ?? 0) + $i; }
arsort($a); echo array_key_first($a), ' ', array_sum($a), "\n";
echo md5(str_repeat('text', 5000)), ' ', preg_replace('/(\d+)/', '<$1>', 'a1b22'), "\n";
function ack($m, $n) { return $m == 0 ? $n + 1 : ($n == 0 ? ack($m - 1, 1) : ack($m - 1, ack($m, $n - 1))); }
echo ack(2, 30), "\n", json_encode(['x' => [1, 2.5, null, 'ü']]), "\n";
