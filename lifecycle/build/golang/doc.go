package golang
