# A report on a text: words, their lengths, letters that follow each other, lines that are rebuilt.
BEGIN { FS = "[ ,.]+"; split("the a an of to in and is", common, " ") }
function hash(text,    i, h) {
    h = 7
    for (i = 1; i <= length(text); i += 3)
        h = (h * 31 + index("abcdefghijklmnopqrstuvwxyz0123456789", tolower(substr(text, i, 1)))) % 1000003
    return h
}
NF > 1 {
    lines++
    for (i = 1; i <= NF; i++) {
        if ($i == "") continue
        words++
        count[tolower($i)]++
        lengths[length($i)]++
        if ($i ~ /^[0-9]+$/) { numbers++; sum += $i }
        if ($i ~ /^[A-Z][a-z]*(ou|ea)/) marked++
        pair[substr($i, 1, 1) substr($i, length($i))]++
    }
    line = $0
    vowels += gsub(/[aeiou]+/, "<&>", line)
    total = (total * 17 + hash(line)) % 1000003
    if (sub(/[0-9]+/, "#", line)) rebuilt = sprintf("%s|%s", substr(rebuilt, 1, 40), substr(line, 1, 12))
}
/^$/ { paragraphs++ }
END {
    printf "%d lines, %d paragraphs, %d words, %d vowels, %d marked\n", lines, paragraphs, words, vowels, marked
    printf "%d numbers, mean %.3f, hash %d, %s\n", numbers, numbers ? sum / numbers : 0, total, rebuilt
    for (n = 1; n <= 20; n++) if (n in lengths) printf "%2d %6d %s\n", n, lengths[n], substr("##########", 1, lengths[n] * 10 / words)
    for (word in count) { distinct++; if (count[word] > most || (count[word] == most && word < best)) { most = count[word]; best = word } }
    for (two in pair) { pairs++; check = (check + pair[two] * hash(two)) % 1000003 }
    printf "%d distinct words, most often %s (%d), %d pairs %d\n", distinct, best, most, pairs, check
}
