"""Operations of Perl that wait or work at length: a sample in one is given a frame of its own."""

SLOW_OPS = frozenset(
    # Files, as perldoc perlfunc groups its functions, by their names in opcode.pl of Perl.
    "open close binmode sysopen sysseek sysread syswrite read print prtf say readline glob eof tell seek truncate fcntl "
    "ioctl flock stat lstat ftrread ftrwrite ftrexec fteread ftewrite fteexec ftis ftsize ftmtime ftatime ftctime "
    "ftrowned fteowned ftzero ftsock ftchr ftblk ftfile ftdir ftpipe ftsuid ftsgid ftsvtx ftlink fttty fttext ftbinary "
    "chdir chown chroot unlink chmod utime rename link symlink readlink mkdir rmdir open_dir readdir telldir seekdir "
    "rewinddir closedir pipe_op sselect select "
    # Databases, sockets, and descriptions of users and hosts.
    "dbmopen dbmclose socket sockpair bind connect listen accept shutdown gsockopt ssockopt getsockname getpeername "
    "send recv ghbyname ghbyaddr ghostent gnbyname gnbyaddr gnetent gpbyname gpbynumber gprotoent gsbyname gsbyport "
    "gservent gpwnam gpwuid gpwent ggrnam ggrgid ggrent "
    # Processes.
    "fork wait waitpid system exec kill backtick sleep alarm shmget shmctl shmread shmwrite msgget msgctl msgsnd msgrcv "
    "semop semget semctl require dofile "
    # Regular expressions, sorting and packing.
    "match qr subst substcont trans transr regcomp split sort study pack unpack crypt".split()
)
