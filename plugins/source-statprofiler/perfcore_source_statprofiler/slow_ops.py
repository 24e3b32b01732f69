"""Operations of Perl that wait or work at length: a sample in one is given a frame of its own.

Names are those of opcode.pl of Perl, in the groups of perldoc perlfunc.
"""

_FILES = """
open close binmode sysopen sysseek sysread syswrite read print prtf say readline glob eof tell seek truncate
fcntl ioctl flock stat lstat ftrread ftrwrite ftrexec fteread ftewrite fteexec ftis ftsize ftmtime ftatime
ftctime ftrowned fteowned ftzero ftsock ftchr ftblk ftfile ftdir ftpipe ftsuid ftsgid ftsvtx ftlink fttty
fttext ftbinary chdir chown chroot unlink chmod utime rename link symlink readlink mkdir rmdir open_dir
readdir telldir seekdir rewinddir closedir pipe_op sselect select
"""
_NETWORK = """
dbmopen dbmclose socket sockpair bind connect listen accept shutdown gsockopt ssockopt getsockname getpeername
send recv ghbyname ghbyaddr ghostent gnbyname gnbyaddr gnetent gpbyname gpbynumber gprotoent gsbyname gsbyport
gservent gpwnam gpwuid gpwent ggrnam ggrgid ggrent
"""
_PROCESSES = """
fork wait waitpid system exec kill backtick sleep alarm shmget shmctl shmread shmwrite msgget msgctl msgsnd
msgrcv semop semget semctl require dofile
"""
_TEXT = """
match qr subst substcont trans transr regcomp split sort study pack unpack crypt
"""

SLOW_OPS = frozenset((_FILES + _NETWORK + _PROCESSES + _TEXT).split())
