// An order book in SQLite, in memory: inserts, updates under constraints and triggers, joins,
// grouping, sorting, a recursive query, full scans, transactions that are rolled back.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3 *db;
static uint64_t state = 2005;

static int below(int end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)end);
}

static void fail(const char *what) {
    printf("%s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(sql);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail(sqlite3_sql(statement));
    sqlite3_reset(statement);
}

// Prints the first rows of a query and a hash of all.
static void show(const char *title, const char *sql) {
    sqlite3_stmt *query = prepare(sql);
    uint64_t hash = 14695981039346656037u;
    int rows = 0, code;
    printf("%s\n", title);
    while ((code = sqlite3_step(query)) == SQLITE_ROW) {
        for (int n = 0; n < sqlite3_column_count(query); n++) {
            const unsigned char *text = sqlite3_column_text(query, n);
            for (const unsigned char *c = text ? text : (const unsigned char *)"-"; *c; c++)
                hash = (hash ^ *c) * 1099511628211u;
            if (rows < 3)
                printf("%s%s", n ? " | " : "  ", text ? (const char *)text : "-");
        }
        if (rows++ < 3)
            puts("");
    }
    if (code != SQLITE_DONE)
        fail(sql);
    printf("  %d rows, %016llx\n", rows, (unsigned long long)hash);
    sqlite3_finalize(query);
}

static void schema(void) {
    run("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT, credit INT);"
        "CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price INT CHECK (price > 0), stock INT);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customer, day INT);"
        "CREATE TABLE line (orders INT REFERENCES orders, product INT REFERENCES product, pieces INT,"
        "  PRIMARY KEY (orders, product)) WITHOUT ROWID;"
        "CREATE TABLE journal (at INTEGER PRIMARY KEY, what TEXT, n INT);"
        "CREATE INDEX by_region ON customer (region, credit);"
        "CREATE INDEX by_day ON orders (day);"
        "CREATE INDEX by_product ON line (product);"
        "CREATE TRIGGER sold AFTER INSERT ON line BEGIN"
        "  UPDATE product SET stock = stock - new.pieces WHERE id = new.product;"
        "  INSERT INTO journal (what, n) SELECT 'low ' || name, stock FROM product"
        "    WHERE id = new.product AND stock < 20;"
        " END;");
}

static void fill(int customers, int products) {
    static const char *const REGIONS[] = {"north", "east", "south", "west", "middle"};
    char name[64];
    sqlite3_stmt *customer = prepare("INSERT INTO customer (name, region, credit) VALUES (?, ?, ?)");
    sqlite3_stmt *product = prepare("INSERT INTO product (name, price, stock) VALUES (?, ?, ?)");
    run("BEGIN");
    for (int n = 0; n < customers; n++) {
        snprintf(name, sizeof name, "Customer %c%c%04d", 'A' + below(26), 'a' + below(26), n);
        sqlite3_bind_text(customer, 1, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(customer, 2, REGIONS[below(5)], -1, SQLITE_STATIC);
        sqlite3_bind_int(customer, 3, below(5000));
        step(customer);
    }
    for (int n = 0; n < products; n++) {
        snprintf(name, sizeof name, "part-%05d-%c", below(100000), 'a' + n % 26);
        sqlite3_bind_text(product, 1, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int(product, 2, 5 + below(995));
        sqlite3_bind_int(product, 3, 100 + below(400));
        if (sqlite3_step(product) != SQLITE_DONE)
            printf("refused: %s\n", sqlite3_errmsg(db));
        sqlite3_reset(product);
    }
    run("COMMIT");
    sqlite3_finalize(customer);
    sqlite3_finalize(product);
}

static void trade(int orders, int customers, int products) {
    sqlite3_stmt *order = prepare("INSERT INTO orders (customer, day) VALUES (?, ?)");
    sqlite3_stmt *line = prepare("INSERT INTO line VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET pieces = pieces + 1");
    sqlite3_stmt *credit = prepare("UPDATE customer SET credit = credit - ?2 WHERE id = ?1");
    sqlite3_stmt *refill = prepare("UPDATE product SET stock = stock + 300 WHERE stock < 50");
    for (int n = 0; n < orders; n++) {
        int who = 1 + below(customers);
        run("BEGIN");
        sqlite3_bind_int(order, 1, who);
        sqlite3_bind_int(order, 2, n / 10);
        step(order);
        sqlite3_int64 id = sqlite3_last_insert_rowid(db);
        for (int left = 1 + below(6); left > 0; left--) {
            sqlite3_bind_int64(line, 1, id);
            sqlite3_bind_int(line, 2, 1 + below(below(2) ? products : products / 8 + 1));
            sqlite3_bind_int(line, 3, 1 + below(9));
            step(line);
        }
        sqlite3_bind_int(credit, 1, who);
        sqlite3_bind_int(credit, 2, below(40));
        step(credit);
        run(below(20) ? "COMMIT" : "ROLLBACK");
        if (n % 64 == 63)
            step(refill);
    }
    sqlite3_finalize(order);
    sqlite3_finalize(line);
    sqlite3_finalize(credit);
    sqlite3_finalize(refill);
}

int main(int argc, char **argv) {
    int scale = argc > 1 ? atoi(argv[1]) : 1;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        fail("open");
    schema();
    fill(40 * scale, 20 * scale);
    trade(100 * scale, 40 * scale, 20 * scale);
    show("sales by region",
         "SELECT region, count(DISTINCT o.id), sum(pieces * price) AS total FROM customer c"
         " JOIN orders o ON o.customer = c.id JOIN line l ON l.orders = o.id JOIN product p ON p.id = l.product"
         " GROUP BY region ORDER BY total DESC");
    show("best customers",
         "SELECT name, (SELECT count(*) FROM orders WHERE customer = c.id) AS n, credit FROM customer c"
         " WHERE credit > 0 ORDER BY n DESC, name LIMIT 50");
    show("products nobody bought",
         "SELECT name FROM product WHERE id NOT IN (SELECT product FROM line) ORDER BY name");
    show("days, running total",
         "SELECT day, sum(count(*)) OVER (ORDER BY day) FROM orders GROUP BY day");
    show("bought together",
         "SELECT a.product, b.product, count(*) AS n FROM line a JOIN line b ON a.orders = b.orders"
         " AND a.product < b.product GROUP BY 1, 2 HAVING n > 1 ORDER BY n DESC, 1, 2");
    show("names like it",
         "SELECT upper(name), substr(region, 1, 2) || '-' || abs(credit) FROM customer"
         " WHERE name LIKE '%a%1%' ORDER BY length(name), name COLLATE NOCASE");
    show("recursion",
         "WITH RECURSIVE c(n, x) AS (SELECT 1, 7 UNION ALL SELECT n + 1, (x * 31 + n) % 1009 FROM c"
         " WHERE n < 2000) SELECT x, count(*) FROM c GROUP BY x ORDER BY 2 DESC, 1");
    run("DELETE FROM line WHERE orders IN (SELECT id FROM orders WHERE day % 3 = 0);"
        "DELETE FROM orders WHERE day % 3 = 0; VACUUM; ANALYZE");
    show("journal", "SELECT what, count(*), min(n) FROM journal GROUP BY what ORDER BY 2 DESC, 1");
    show("check", "PRAGMA integrity_check");
    sqlite3_close(db);
}
