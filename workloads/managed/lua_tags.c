/* The functions of Lua scripts as SHIM's tags, for Lua 5.4's own lua.c: a hook at calls and returns writes what runs.
 *
 *     cc ... lua.c lapi.c ... lua_tags.c -Wl,--wrap=luaL_openlibs
 *
 * The tag of a script's function has the text "file:line name", by the place of its definition and the name by which it
 * was first called, which a tail call does not have; that of a C function is "[C] name". The frames of SHIM's stack are known by Lua's own, so that
 * errors, tail calls and coroutines leave no wrong tag behind: what a coroutine calls lies above the resume that it runs
 * in. Without an observer no hook is set.
 */
#include <stdio.h>

#include "lua.h"
#include "lauxlib.h"
#include "lobject.h"
#include "lstate.h"

#include "hps_shim.h"

/* A table of functions, the place by a hash of what identifies one: the prototype of a script's function, or the address
 * of a C function. A prototype that Lua has freed may have left its place to another one, of another line or file. */
#define PLACES 4096
struct known {
  const void *function;
  const void *source;
  int line;
  uint64_t tag;
};
static struct known known[PLACES];

static uint64_t new_tag(lua_State *L, CallInfo *ci) {
  lua_Debug about;
  char text[HPS_SHIM_NAME_TEXT_BYTES + 1];
  about.i_ci = ci;
  lua_getinfo(L, "nS", &about);
  if (*about.what == 'C')
    snprintf(text, sizeof text, "[C] %s", about.name ? about.name : "?");
  else if (*about.what == 'm')
    snprintf(text, sizeof text, "%s (main)", about.short_src);
  else
    snprintf(text, sizeof text, about.name ? "%s:%d %s" : "%s:%d", about.short_src, about.linedefined, about.name);
  return hps_shim_name(text);
}

/* The tag of the function that runs in a frame; 0 below all of them. */
static uint64_t tag_of(lua_State *L, CallInfo *ci) {
  struct known it = {NULL, NULL, 0, 0};
  const TValue *function = s2v(ci->func);
  unsigned place;
  if (ttisLclosure(function)) {
    const Proto *p = clLvalue(function)->p;
    it.function = p;
    it.source = p->source;
    it.line = p->linedefined;
  } else if (ttislcf(function)) {
    it.function = (const void *)(size_t)fvalue(function);
  } else if (ttisCclosure(function)) {
    it.function = (const void *)(size_t)clCvalue(function)->f;
  } else {
    return 0;
  }
  place = (unsigned)(((size_t)it.function >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES;
  if (known[place].function != it.function || known[place].source != it.source || known[place].line != it.line) {
    it.tag = new_tag(L, ci);
    known[place] = it;
  }
  return known[place].tag;
}

/* Lua's frames that are on SHIM's stack. Calls beyond them are not pushed. */
#define DEEPEST 4096
static CallInfo *frames[DEEPEST];
static int depth;

static void push(lua_State *L, CallInfo *ci) {
  if (depth == DEEPEST) return;
  frames[depth++] = ci;
  hps_shim_push(tag_of(L, ci));
}

/* Pops what lies above a frame; 0 if that is not on the stack. */
static int pop_to(CallInfo *ci) {
  int at = depth;
  while (at > 0 && frames[at - 1] != ci) at--;
  if (at == 0) return 0;
  for (; depth > at; depth--) hps_shim_pop();
  return 1;
}

/* Makes a frame the last one. A coroutine that goes on has frames that are not there: they are pushed again, above the
 * resume. */
static void come_to(lua_State *L, CallInfo *ci) {
  if (ci == &L->base_ci || pop_to(ci)) return;
  come_to(L, ci->previous);
  push(L, ci);
}

static void hook(lua_State *L, lua_Debug *ar) {
  CallInfo *ci = ar->i_ci;
  if (ar->event == LUA_HOOKTAILCALL && pop_to(ci)) {
    depth--;
    hps_shim_pop();
  }
  if (ar->event != LUA_HOOKRET) {
    come_to(L, ci->previous);
    push(L, ci);
  } else if (pop_to(ci)) {
    depth--;
    hps_shim_pop();
  } else {
    come_to(L, ci->previous);
  }
}

void __real_luaL_openlibs(lua_State *L);
void __wrap_luaL_openlibs(lua_State *L);

void __wrap_luaL_openlibs(lua_State *L) {
  hps_shim_wait();
  if (hps_shim_open()) lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET, 0);
  __real_luaL_openlibs(L);
}
