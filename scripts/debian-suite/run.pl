use strict; use warnings;
my %count; my $seed = 1;
for (1 .. 30000) { $seed = ($seed * 1103515245 + 12345) % 2147483648; my $w = join '', map { chr(97 + ($seed >> $_) % 7) } (3, 9, 14); $count{$w}++; }
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @top[0 .. 4];
my $text = join ' ', @top; (my $vowels = $text) =~ s/[^ae]+//g; print length $vowels, "\n";
printf "%.6f %s\n", atan2(1, 1) * 4, scalar reverse 'lrep';
open my $sorted, '-|', 'printf "c\nb\na\n" | sort' or die; print while <$sorted>;
