#!/usr/bin/env bash
# Builds the book of docs/ into target/book, and checks that every relative link, anchor and picture of its pages exists.
#
#     scripts/build-book.sh
#
# It takes an mdBook 0.5 that is there, or installs the version below into target/tools first, which takes two minutes of
# processor time.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
book=target/book

if [[ $(mdbook --version 2>/dev/null || true) == "mdbook v0.5."* ]]; then
    mdbook=mdbook
else
    mdbook=target/tools/bin/mdbook
    [ -x "$mdbook" ] || cargo install mdbook --version "$version" --locked --no-default-features --root target/tools
fi
rm -rf "$book"
"$mdbook" build docs

cd "$book"
mapfile -t pages < <(find . -name '*.html' ! -name print.html ! -name toc.html | sort)

# The values of an attribute in a page, one a line.
values() {
    grep -oE "[ \"]$1=\"[^\"]*\"" "$2" | sed -E "s/^.$1=\"//; s/\"\$//; s/&amp;/\&/g"
}

declare -A ids
for page in "${pages[@]}"; do
    ids[$page]=$'\n'$(values id "$page")$'\n'
done

bad=0
checked=0
for page in "${pages[@]}"; do
    # 404.html may be shown at any address, and names files by a base of its own.
    [ "$page" != ./404.html ] || continue
    folder=${page%/*}
    while read -r link; do
        case $link in
        '' | http://* | https://* | mailto:* | data:* | javascript:*) continue ;;
        esac
        checked=$((checked + 1))
        path=${link%%#*}
        anchor=
        [[ $link != *'#'* ]] || anchor=${link#*#}
        target=$page
        if [ -n "$path" ]; then
            target=./$(realpath -m --relative-to=. "$folder/$path")
            [ ! -d "$target" ] || target=$target/index.html
        fi
        if [ ! -f "$target" ]; then
            echo "error: $book/${page#./}: $link: there is no such file in the book" >&2
            bad=$((bad + 1))
        elif [ -n "$anchor" ] && [[ $target == *.html && ${ids[$target]:-} != *$'\n'"$anchor"$'\n'* ]]; then
            echo "error: $book/${page#./}: $link: the page has no such heading" >&2
            bad=$((bad + 1))
        fi
    done < <({ values href "$page"; values src "$page"; } | sort -u)
done
if [ "$bad" != 0 ]; then
    echo "error: $bad links of $checked lead nowhere; mend them in docs/, or in scripts/book-links.sh for documents that the book includes" >&2
    exit 1
fi
echo "book: $book/index.html, ${#pages[@]} pages, $checked links"
