/* Buffered standard output and a small printf. */
#include "rt.h"

static char out_buffer[4096];
static size_t out_used;

void rt_flush(void)
{
    size_t done = 0;
    while (done < out_used) {
        long n = rt_sys_write(1, out_buffer + done, out_used - done);
        if (n <= 0)
            rt_sys_exit(1);
        done += (size_t)n;
    }
    out_used = 0;
}

/* Where formatted text goes: a caller's buffer, or standard output when there is none. */
struct sink {
    char *buffer;
    size_t size, length;
};

static void put(struct sink *sink, char c)
{
    if (sink->buffer) {
        if (sink->length + 1 < sink->size)
            sink->buffer[sink->length] = c;
    } else {
        if (out_used == sizeof(out_buffer))
            rt_flush();
        out_buffer[out_used++] = c;
    }
    sink->length++;
}

/* One conversion's flags and operand as text. */
struct field {
    int left, zero, width, longs;
    const char *text;
    size_t length;
};

static void put_field(struct sink *sink, const struct field *f)
{
    size_t width = f->width > 0 ? (size_t)f->width : 0;
    size_t pad = width > f->length ? width - f->length : 0;
    size_t i = 0;
    if (!f->left && f->zero && f->length > 0 && f->text[0] == '-')
        put(sink, f->text[i++]);
    if (!f->left)
        for (; pad > 0; pad--)
            put(sink, f->zero ? '0' : ' ');
    for (; i < f->length; i++)
        put(sink, f->text[i]);
    for (; pad > 0; pad--)
        put(sink, ' ');
}

/* Digits of `value`, written backwards from `end`; returns the first one. */
static char *digits(char *end, uint64_t value, unsigned base)
{
    do {
        *--end = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    return end;
}

static const char *parse_flags(const char *p, struct field *f)
{
    for (; *p == '-' || *p == '0'; p++) {
        f->left |= *p == '-';
        f->zero |= *p == '0';
    }
    for (; *p >= '0' && *p <= '9'; p++)
        f->width = f->width * 10 + (*p - '0');
    for (; *p == 'l'; p++)
        f->longs++;
    return p;
}

static void format_all(struct sink *sink, const char *p, va_list args)
{
    for (; *p; p++) {
        if (*p != '%') {
            put(sink, *p);
            continue;
        }
        char number[24], *end = number + sizeof(number);
        struct field f = {0, 0, 0, 0, 0, 0};
        p = parse_flags(p + 1, &f);
        switch (*p) {
        case 'd': {
            int64_t v = f.longs ? va_arg(args, long) : va_arg(args, int);
            char *s = digits(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
            if (v < 0)
                *--s = '-';
            f.text = s;
            break;
        }
        case 'u':
        case 'x': {
            uint64_t v = f.longs ? va_arg(args, unsigned long) : va_arg(args, unsigned);
            f.text = digits(end, v, *p == 'x' ? 16 : 10);
            break;
        }
        case 'c':
            number[0] = (char)va_arg(args, int);
            f.text = number;
            end = number + 1;
            break;
        case 's':
            f.text = va_arg(args, const char *);
            end = (char *)f.text + strlen(f.text);
            break;
        case '%':
            f.text = "%";
            end = (char *)f.text + 1;
            break;
        default:
            rt_fail("printf: unknown conversion");
        }
        f.length = (size_t)(end - f.text);
        put_field(sink, &f);
    }
}

int printf(const char *format, ...)
{
    struct sink sink = {0, 0, 0};
    va_list args;
    va_start(args, format);
    format_all(&sink, format, args);
    va_end(args);
    return (int)sink.length;
}

int vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
    struct sink sink = {buf, size, 0};
    format_all(&sink, format, args);
    if (size > 0)
        buf[sink.length < size ? sink.length : size - 1] = 0;
    return (int)sink.length;
}

int snprintf(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf, size, format, args);
    va_end(args);
    return n;
}
