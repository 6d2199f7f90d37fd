package image

import (
	"fmt"
	"regexp"
	"strings"
)

// nobody is the number that a user's or a group's name stands for.
const nobody = "65532"

var userPattern = regexp.MustCompile(`^(?:[0-9]{1,10}|[a-z_][a-z0-9_.-]{0,31})(?::(?:[0-9]{1,10}|[a-z_][a-z0-9_.-]{0,31}))?$`)

// numbered returns an image's user by number: "", "1000", "1000:1000".
func numbered(user string) (string, error) {
	if user == "" {
		return "", nil
	}
	if !userPattern.MatchString(user) {
		return "", fmt.Errorf("the user %q of the original image is none", user)
	}
	name, group, hasGroup := strings.Cut(user, ":")
	if !hasGroup {
		return number(name), nil
	}
	return number(name) + ":" + number(group), nil
}

func number(name string) string {
	switch {
	case name == "root":
		return "0"
	case name[0] >= '0' && name[0] <= '9':
		return name
	}
	return nobody
}
