package lazyregexp

import (
	"reflect"
	"regexp"
	"sync"
	"testing"
)

// Each method is the one of regexp.Regexp.
func TestMethods(t *testing.T) {
	t.Parallel()
	const expression, text = `([a-z]+)-(\d*)`, "-- ab-12, cd- ef"
	eager, lazy := reflect.ValueOf(regexp.MustCompile(expression)), reflect.ValueOf(New(expression))
	for i := range lazy.NumMethod() {
		name := lazy.Type().Method(i).Name
		method := lazy.Method(i)
		var args []reflect.Value
		for a := range method.Type().NumIn() {
			switch method.Type().In(a).Kind() {
			case reflect.String:
				args = append(args, reflect.ValueOf(text[a:]))
			case reflect.Int:
				args = append(args, reflect.ValueOf(-1))
			default:
				args = append(args, reflect.ValueOf([]byte(text)))
			}
		}
		got, want := method.Call(args)[0].Interface(), eager.MethodByName(name).Call(args)[0].Interface()
		if !reflect.DeepEqual(got, want) || reflect.ValueOf(got).IsZero() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := New(`^a+$`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !r.MatchString("aaa") || r.MatchString("b") {
				t.Error("it matches something else")
			}
		})
	}
	all.Wait()
}

func TestWrongExpressionPanicsWhenItIsUsed(t *testing.T) {
	t.Parallel()
	r := New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("it does not panic")
		}
	}()
	r.MatchString("")
}
