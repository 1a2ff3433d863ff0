//! The names of all system calls that Linux has, by number, for messages about those that are not served
//! (Linux `include/uapi/asm-generic/unistd.h`, `arch/alpha/kernel/syscalls/syscall.tbl`).

macro_rules! names {
    ($(#[$doc:meta])* $table:ident: $($number:literal $name:ident)*) => {
        $(#[$doc])*
        pub(super) const fn $table(number: u64) -> Option<&'static str> {
            match number {
                $($number => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

names! {
    /// The name of a call with a generic number, on riscv64.
    riscv64:
    0 io_setup 1 io_destroy 2 io_submit 3 io_cancel 4 io_getevents 5 setxattr 6 lsetxattr 7 fsetxattr
    8 getxattr 9 lgetxattr 10 fgetxattr 11 listxattr 12 llistxattr 13 flistxattr 14 removexattr
    15 lremovexattr 16 fremovexattr 17 getcwd 18 lookup_dcookie 19 eventfd2 20 epoll_create1 21 epoll_ctl
    22 epoll_pwait 23 dup 24 dup3 25 fcntl 26 inotify_init1 27 inotify_add_watch 28 inotify_rm_watch 29 ioctl
    30 ioprio_set 31 ioprio_get 32 flock 33 mknodat 34 mkdirat 35 unlinkat 36 symlinkat 37 linkat 39 umount2
    40 mount 41 pivot_root 42 nfsservctl 43 statfs 44 fstatfs 45 truncate 46 ftruncate 47 fallocate
    48 faccessat 49 chdir 50 fchdir 51 chroot 52 fchmod 53 fchmodat 54 fchownat 55 fchown 56 openat 57 close
    58 vhangup 59 pipe2 60 quotactl 61 getdents64 62 lseek 63 read 64 write 65 readv 66 writev 67 pread64
    68 pwrite64 69 preadv 70 pwritev 71 sendfile 72 pselect6 73 ppoll 74 signalfd4 75 vmsplice 76 splice
    77 tee 78 readlinkat 79 newfstatat 80 fstat 81 sync 82 fsync 83 fdatasync 84 sync_file_range
    85 timerfd_create 86 timerfd_settime 87 timerfd_gettime 88 utimensat 89 acct 90 capget 91 capset
    92 personality 93 exit 94 exit_group 95 waitid 96 set_tid_address 97 unshare 98 futex 99 set_robust_list
    100 get_robust_list 101 nanosleep 102 getitimer 103 setitimer 104 kexec_load 105 init_module
    106 delete_module 107 timer_create 108 timer_gettime 109 timer_getoverrun 110 timer_settime
    111 timer_delete 112 clock_settime 113 clock_gettime 114 clock_getres 115 clock_nanosleep 116 syslog
    117 ptrace 118 sched_setparam 119 sched_setscheduler 120 sched_getscheduler 121 sched_getparam
    122 sched_setaffinity 123 sched_getaffinity 124 sched_yield 125 sched_get_priority_max
    126 sched_get_priority_min 127 sched_rr_get_interval 128 restart_syscall 129 kill 130 tkill 131 tgkill
    132 sigaltstack 133 rt_sigsuspend 134 rt_sigaction 135 rt_sigprocmask 136 rt_sigpending
    137 rt_sigtimedwait 138 rt_sigqueueinfo 139 rt_sigreturn 140 setpriority 141 getpriority 142 reboot
    143 setregid 144 setgid 145 setreuid 146 setuid 147 setresuid 148 getresuid 149 setresgid 150 getresgid
    151 setfsuid 152 setfsgid 153 times 154 setpgid 155 getpgid 156 getsid 157 setsid 158 getgroups
    159 setgroups 160 uname 161 sethostname 162 setdomainname 163 getrlimit 164 setrlimit 165 getrusage
    166 umask 167 prctl 168 getcpu 169 gettimeofday 170 settimeofday 171 adjtimex 172 getpid 173 getppid
    174 getuid 175 geteuid 176 getgid 177 getegid 178 gettid 179 sysinfo 180 mq_open 181 mq_unlink
    182 mq_timedsend 183 mq_timedreceive 184 mq_notify 185 mq_getsetattr 186 msgget 187 msgctl 188 msgrcv
    189 msgsnd 190 semget 191 semctl 192 semtimedop 193 semop 194 shmget 195 shmctl 196 shmat 197 shmdt
    198 socket 199 socketpair 200 bind 201 listen 202 accept 203 connect 204 getsockname 205 getpeername
    206 sendto 207 recvfrom 208 setsockopt 209 getsockopt 210 shutdown 211 sendmsg 212 recvmsg 213 readahead
    214 brk 215 munmap 216 mremap 217 add_key 218 request_key 219 keyctl 220 clone 221 execve 222 mmap
    223 fadvise64 224 swapon 225 swapoff 226 mprotect 227 msync 228 mlock 229 munlock 230 mlockall
    231 munlockall 232 mincore 233 madvise 234 remap_file_pages 235 mbind 236 get_mempolicy 237 set_mempolicy
    238 migrate_pages 239 move_pages 240 rt_tgsigqueueinfo 241 perf_event_open 242 accept4 243 recvmmsg
    258 riscv_hwprobe 259 riscv_flush_icache 260 wait4 261 prlimit64 262 fanotify_init 263 fanotify_mark 264 name_to_handle_at
    265 open_by_handle_at 266 clock_adjtime 267 syncfs 268 setns 269 sendmmsg 270 process_vm_readv
    271 process_vm_writev 272 kcmp 273 finit_module 274 sched_setattr 275 sched_getattr 276 renameat2
    277 seccomp 278 getrandom 279 memfd_create 280 bpf 281 execveat 282 userfaultfd 283 membarrier 284 mlock2
    285 copy_file_range 286 preadv2 287 pwritev2 288 pkey_mprotect 289 pkey_alloc 290 pkey_free 291 statx
    292 io_pgetevents 293 rseq 294 kexec_file_load 424 pidfd_send_signal 425 io_uring_setup
    426 io_uring_enter 427 io_uring_register 428 open_tree 429 move_mount 430 fsopen 431 fsconfig 432 fsmount
    433 fspick 434 pidfd_open 435 clone3 436 close_range 437 openat2 438 pidfd_getfd 439 faccessat2
    440 process_madvise 441 epoll_pwait2 442 mount_setattr 443 quotactl_fd 444 landlock_create_ruleset
    445 landlock_add_rule 446 landlock_restrict_self 447 memfd_secret 448 process_mrelease 449 futex_waitv
    450 set_mempolicy_home_node 451 cachestat 452 fchmodat2 453 map_shadow_stack 454 futex_wake
    455 futex_wait 456 futex_requeue 457 statmount 458 listmount 459 lsm_get_self_attr 460 lsm_set_self_attr
    461 lsm_list_modules 462 mseal
}

names! {
    /// The name of a call on Alpha. Numbers below 300 are those of OSF/1.
    alpha:
    0 osf_syscall 1 exit 2 fork 3 read 4 write 5 osf_old_open 6 close 7 osf_wait4 8 osf_old_creat 9 link
    10 unlink 11 osf_execve 12 chdir 13 fchdir 14 mknod 15 chmod 16 chown 17 brk 18 osf_getfsstat 19 lseek
    20 getxpid 21 osf_mount 22 umount 23 setuid 24 getuid 25 exec_with_loader 26 ptrace 27 osf_nrecvmsg
    28 osf_nsendmsg 29 osf_nrecvfrom 30 osf_naccept 31 osf_ngetpeername 32 osf_ngetsockname 33 access
    34 osf_chflags 35 osf_fchflags 36 sync 37 kill 38 osf_old_stat 39 setpgid 40 osf_old_lstat 41 dup 42 pipe
    43 osf_set_program_attributes 44 osf_profil 45 open 46 osf_old_sigaction 47 getgid 48 osf_sigprocmask
    49 osf_getlogin 50 osf_setlogin 51 acct 52 sigpending 54 ioctl 55 osf_reboot 56 osf_revoke 57 symlink
    58 readlink 59 execve 60 umask 61 chroot 62 osf_old_fstat 63 getpgrp 64 getpagesize 65 osf_mremap
    66 vfork 67 stat 68 lstat 69 osf_sbrk 70 osf_sstk 71 mmap 72 osf_old_vadvise 73 munmap 74 mprotect
    75 madvise 76 vhangup 77 osf_kmodcall 78 osf_mincore 79 getgroups 80 setgroups 81 osf_old_getpgrp
    82 setpgrp 83 osf_setitimer 84 osf_old_wait 85 osf_table 86 osf_getitimer 87 gethostname 88 sethostname
    89 getdtablesize 90 dup2 91 fstat 92 fcntl 93 osf_select 94 poll 95 fsync 96 setpriority 97 socket
    98 connect 99 accept 100 getpriority 101 send 102 recv 103 sigreturn 104 bind 105 setsockopt 106 listen
    107 osf_plock 108 osf_old_sigvec 109 osf_old_sigblock 110 osf_old_sigsetmask 111 sigsuspend
    112 osf_sigstack 113 recvmsg 114 sendmsg 115 osf_old_vtrace 116 osf_gettimeofday 117 osf_getrusage
    118 getsockopt 120 readv 121 writev 122 osf_settimeofday 123 fchown 124 fchmod 125 recvfrom 126 setreuid
    127 setregid 128 rename 129 truncate 130 ftruncate 131 flock 132 setgid 133 sendto 134 shutdown
    135 socketpair 136 mkdir 137 rmdir 138 osf_utimes 139 osf_old_sigreturn 140 osf_adjtime 141 getpeername
    142 osf_gethostid 143 osf_sethostid 144 getrlimit 145 setrlimit 146 osf_old_killpg 147 setsid
    148 quotactl 149 osf_oldquota 150 getsockname 153 osf_pid_block 154 osf_pid_unblock 156 sigaction
    157 osf_sigwaitprim 158 osf_nfssvc 159 osf_getdirentries 160 osf_statfs 161 osf_fstatfs
    163 osf_asynch_daemon 164 osf_getfh 165 osf_getdomainname 166 setdomainname 169 osf_exportfs
    181 osf_alt_plock 184 osf_getmnt 187 osf_alt_sigpending 188 osf_alt_setsid 199 osf_swapon 200 msgctl
    201 msgget 202 msgrcv 203 msgsnd 204 semctl 205 semget 206 semop 207 osf_utsname 208 lchown 209 shmat
    210 shmctl 211 shmdt 212 shmget 213 osf_mvalid 214 osf_getaddressconf 215 osf_msleep 216 osf_mwakeup
    217 msync 218 osf_signal 219 osf_utc_gettime 220 osf_utc_adjtime 222 osf_security 223 osf_kloadcall
    224 osf_stat 225 osf_lstat 226 osf_fstat 227 osf_statfs64 228 osf_fstatfs64 233 getpgid 234 getsid
    235 sigaltstack 236 osf_waitid 237 osf_priocntlset 238 osf_sigsendset 239 osf_set_speculative
    240 osf_msfs_syscall 241 osf_sysinfo 242 osf_uadmin 243 osf_fuser 244 osf_proplist_syscall
    245 osf_ntp_adjtime 246 osf_ntp_gettime 247 osf_pathconf 248 osf_fpathconf 250 osf_uswitch
    251 osf_usleep_thread 252 osf_audcntl 253 osf_audgen 254 sysfs 255 osf_subsys_info 256 osf_getsysinfo
    257 osf_setsysinfo 258 osf_afs_syscall 259 osf_swapctl 260 osf_memcntl 261 osf_fdatasync 300 bdflush
    301 sethae 302 mount 303 old_adjtimex 304 swapoff 305 getdents 306 create_module 307 init_module
    308 delete_module 309 get_kernel_syms 310 syslog 311 reboot 312 clone 313 uselib 314 mlock 315 munlock
    316 mlockall 317 munlockall 318 sysinfo 319 _sysctl 321 oldumount 322 swapon 323 times 324 personality
    325 setfsuid 326 setfsgid 327 ustat 328 statfs 329 fstatfs 330 sched_setparam 331 sched_getparam
    332 sched_setscheduler 333 sched_getscheduler 334 sched_yield 335 sched_get_priority_max
    336 sched_get_priority_min 337 sched_rr_get_interval 338 afs_syscall 339 uname 340 nanosleep 341 mremap
    342 nfsservctl 343 setresuid 344 getresuid 345 pciconfig_read 346 pciconfig_write 347 query_module
    348 prctl 349 pread64 350 pwrite64 351 rt_sigreturn 352 rt_sigaction 353 rt_sigprocmask 354 rt_sigpending
    355 rt_sigtimedwait 356 rt_sigqueueinfo 357 rt_sigsuspend 358 select 359 gettimeofday 360 settimeofday
    361 getitimer 362 setitimer 363 utimes 364 getrusage 365 wait4 366 adjtimex 367 getcwd 368 capget
    369 capset 370 sendfile 371 setresgid 372 getresgid 373 dipc 374 pivot_root 375 mincore
    376 pciconfig_iobase 377 getdents64 378 gettid 379 readahead 381 tkill 382 setxattr 383 lsetxattr
    384 fsetxattr 385 getxattr 386 lgetxattr 387 fgetxattr 388 listxattr 389 llistxattr 390 flistxattr
    391 removexattr 392 lremovexattr 393 fremovexattr 394 futex 395 sched_setaffinity 396 sched_getaffinity
    397 tuxcall 398 io_setup 399 io_destroy 400 io_getevents 401 io_submit 402 io_cancel 405 exit_group
    406 lookup_dcookie 407 epoll_create 408 epoll_ctl 409 epoll_wait 410 remap_file_pages 411 set_tid_address
    412 restart_syscall 413 fadvise64 414 timer_create 415 timer_settime 416 timer_gettime
    417 timer_getoverrun 418 timer_delete 419 clock_settime 420 clock_gettime 421 clock_getres
    422 clock_nanosleep 423 semtimedop 424 tgkill 425 stat64 426 lstat64 427 fstat64 428 vserver 429 mbind
    430 get_mempolicy 431 set_mempolicy 432 mq_open 433 mq_unlink 434 mq_timedsend 435 mq_timedreceive
    436 mq_notify 437 mq_getsetattr 438 waitid 439 add_key 440 request_key 441 keyctl 442 ioprio_set
    443 ioprio_get 444 inotify_init 445 inotify_add_watch 446 inotify_rm_watch 447 fdatasync 448 kexec_load
    449 migrate_pages 450 openat 451 mkdirat 452 mknodat 453 fchownat 454 futimesat 455 fstatat64
    456 unlinkat 457 renameat 458 linkat 459 symlinkat 460 readlinkat 461 fchmodat 462 faccessat 463 pselect6
    464 ppoll 465 unshare 466 set_robust_list 467 get_robust_list 468 splice 469 sync_file_range 470 tee
    471 vmsplice 472 move_pages 473 getcpu 474 epoll_pwait 475 utimensat 476 signalfd 477 timerfd 478 eventfd
    479 recvmmsg 480 fallocate 481 timerfd_create 482 timerfd_settime 483 timerfd_gettime 484 signalfd4
    485 eventfd2 486 epoll_create1 487 dup3 488 pipe2 489 inotify_init1 490 preadv 491 pwritev
    492 rt_tgsigqueueinfo 493 perf_event_open 494 fanotify_init 495 fanotify_mark 496 prlimit64
    497 name_to_handle_at 498 open_by_handle_at 499 clock_adjtime 500 syncfs 501 setns 502 accept4
    503 sendmmsg 504 process_vm_readv 505 process_vm_writev 506 kcmp 507 finit_module 508 sched_setattr
    509 sched_getattr 510 renameat2 511 getrandom 512 memfd_create 513 execveat 514 seccomp 515 bpf
    516 userfaultfd 517 membarrier 518 mlock2 519 copy_file_range 520 preadv2 521 pwritev2 522 statx
    523 io_pgetevents 524 pkey_mprotect 525 pkey_alloc 526 pkey_free 527 rseq 528 statfs64 529 fstatfs64
    530 getegid 531 geteuid 532 getppid 534 pidfd_send_signal 535 io_uring_setup 536 io_uring_enter
    537 io_uring_register 538 open_tree 539 move_mount 540 fsopen 541 fsconfig 542 fsmount 543 fspick
    544 pidfd_open 546 close_range 547 openat2 548 pidfd_getfd 549 faccessat2 550 process_madvise
    551 epoll_pwait2 552 mount_setattr 553 quotactl_fd 554 landlock_create_ruleset 555 landlock_add_rule
    556 landlock_restrict_self 558 process_mrelease 559 futex_waitv 560 set_mempolicy_home_node 561 cachestat
    562 fchmodat2 563 map_shadow_stack 564 futex_wake 565 futex_wait 566 futex_requeue 567 statmount
    568 listmount 569 lsm_get_self_attr 570 lsm_set_self_attr 571 lsm_list_modules 572 mseal
}
