Point = Struct.new(:x, :y)
points = (0...4000).map { |i| Point.new(i * 37 % 101, i * 53 % 89) }
puts points.group_by(&:x).map { |x, all| [x, all.sum(&:y)] }.max_by(&:last).inspect
puts (1..30).inject(:*)
puts %w[b c a].sort.join(','), "text".succ, 'äöü'.upcase
memo = Hash.new { |h, n| h[n] = n < 2 ? n : h[n - 1] + h[n - 2] }
puts memo[90]
