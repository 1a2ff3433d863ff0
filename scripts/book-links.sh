#!/bin/sh
# A preprocessor of mdBook: turns links of included documents into links of the book.
#
# ARCHITECTURE.md, CONTRIBUTING.md and the README.md of crates lie elsewhere than the pages that include them, and name
# items of Rust by links that rustdoc alone knows. Links to README.md lead to index.html, which mdBook makes of it. mdBook
# hands the whole book over as one line of JSON, a list of its settings and its pages, and takes the pages back.
if [ "${1:-}" = supports ]; then
    exit 0
fi
exec sed -E \
    -e 's/^\[.*,(\{"items":\[)/\1/; s/\]$//' \
    -e 's/\[(`[^]`]*`)\]\([A-Za-z_#:]*::[^)]*\)/\1/g' \
    -e 's/\[(`[^]`]*`)\]([^([])/\1\2/g' \
    -e 's/\]\((\.\.\/)+docs\//](..\//g; s/\]\(docs\//](..\//g' \
    -e 's/\]\(ARCHITECTURE\.md/](architecture.md/g; s/\]\(CONTRIBUTING\.md/](contributing.md/g' \
    -e 's/\]\(teach\/README\.md/](..\/crates\/teach.md/g; s/\]\(\.\.\/shim\/README\.md/](shim.md/g' \
    -e 's/\]\((\.\.\/)+(lab|experiments|shadow)\/README\.md/](..\/crates\/\2.md/g' \
    -e 's/\]\((\.\.\/)+shadow\/native\/README\.md/](..\/crates\/shadow-native.md/g' \
    -e 's/\[([^]]*)\]\((\.\.\/)*(suite|experiments|workloads|pipeline|scripts|lab|tests)\/[^)]*\.(rs|ron|py|sh|json)\)/\1/g' \
    -e 's/(\]\([^) ]*)\/README\.md/\1\/index.html/g'
