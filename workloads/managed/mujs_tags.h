/* The functions of JavaScript as SHIM's tags, for MuJS: included in front of its one.c (-include), where jsrun.c calls
 * hps_script_enter and hps_script_leave wherever it changes its own stack of calls (mujs_tags.sed).
 *
 * The tag of a script's function has the text "file:line name", by the place of its definition; that of a built-in one
 * is "[C] name". MuJS's stack and SHIM's have the same entries, also behind an exception, which drops several.
 */
#include <stdio.h>

#include "hps_shim.h"

/* A table of functions, the place by a hash of name and line. Names and files are interned: the same text has the same
 * address as long as the engine lives. */
#define HPS_SCRIPT_PLACES 4096
static struct {
  const char *name, *file;
  int line;
  uint64_t tag;
} hps_script_known[HPS_SCRIPT_PLACES];
/* Calls that are under way. */
static int hps_script_depth;

static uint64_t hps_script_new(const char *name, const char *file, int line) {
  char text[HPS_SHIM_NAME_TEXT_BYTES + 1];
  /* MuJS has this word for what is built in, and no line for the script itself. */
  if (strcmp(file, "native") == 0)
    snprintf(text, sizeof text, "[C] %s", name);
  else if (line > 0)
    snprintf(text, sizeof text, *name ? "%s:%d %s" : "%s:%d", file, line, name);
  else
    snprintf(text, sizeof text, "%s (main)", file);
  return hps_shim_name(text);
}

/* A function is called, the level-th one. */
static void hps_script_enter(int level, const char *name, const char *file, int line) {
  unsigned place;
  if (!hps_shim_thread()) return;
  place = (unsigned)(((size_t)name >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
  place = (place + (unsigned)line) % HPS_SCRIPT_PLACES;
  if (hps_script_known[place].name != name || hps_script_known[place].file != file ||
      hps_script_known[place].line != line) {
    hps_script_known[place].name = name;
    hps_script_known[place].file = file;
    hps_script_known[place].line = line;
    hps_script_known[place].tag = hps_script_new(name, file, line);
  }
  hps_script_depth = level;
  hps_shim_push(hps_script_known[place].tag);
}

/* All calls behind the level-th one have ended. */
static void hps_script_leave(int level) {
  for (; hps_script_depth > level; hps_script_depth--) hps_shim_pop();
}
