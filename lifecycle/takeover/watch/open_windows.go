package watch

import "os"

func openFile(place string) (*os.File, error) { return os.Open(place) }

func gone(error) bool { return false }
