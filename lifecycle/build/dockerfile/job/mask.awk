# The operands are files with secrets; the lines of their own are what must not be
# printed. Of standard input it prints every line at once, and *** where one of them
# stands. The same rule holds where the output of a BuildKit at an address is printed:
# lines of four bytes at least, without the white space around them, the longest first.
BEGIN {
	for (i = 1; i < ARGC; i++) {
		while ((getline line < ARGV[i]) > 0) {
			gsub(/^[ \t\r\f\v]+|[ \t\r\f\v]+$/, "", line)
			if (length(line) >= 4)
				secrets[++count] = line
		}
		close(ARGV[i])
	}
	ARGC = 1
	for (i = 2; i <= count; i++) {
		line = secrets[i]
		for (at = i; at > 1 && length(secrets[at - 1]) < length(line); at--)
			secrets[at] = secrets[at - 1]
		secrets[at] = line
	}
}
{
	for (i = 1; i <= count; i++) {
		masked = ""
		while ((at = index($0, secrets[i])) > 0) {
			masked = masked substr($0, 1, at - 1) "***"
			$0 = substr($0, at + length(secrets[i]))
		}
		$0 = masked $0
	}
	print
	fflush()
}
