package kubepage

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/taken"
)

func TestObjectsComeOneByOne(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"a":1},{"b":[2]}]}`: `7 c {"a":1} {"b":[2]} <nil>`,
		`{"items":[{"a":1}],"metadata":{"resourceVersion":"8"}}`:                                           `8  {"a":1} <nil>`,
		`{"items":null,"metadata":{}}`:                                                                     `  <nil>`,
		`{}`:                                                                                               `  <nil>`,
		`{"items":{}}`:                                                                                     `  the answer is not a list of objects`,
		`[]`:                                                                                               `  the answer is not a list of objects`,
		``:                                                                                                 `  read a list of objects: EOF`,
	} {
		var objects []string
		meta, err := read(strings.NewReader(text), func(object []byte) error {
			objects = append(objects, string(object)+" ")
			return nil
		})
		if got := fmt.Sprintf("%s %s %s%v", meta.ResourceVersion, meta.Continue, strings.Join(objects, ""), err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	stop := errors.New("enough")
	if _, err := read(strings.NewReader(`{"items":[1,2]}`), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("what the callback returns: %v", err)
	}
	if _, err := read(strings.NewReader(`{"items":[{"a":1},`), func([]byte) error { return nil }); err == nil {
		t.Error("half a list is read")
	}
	var into any
	if err := Decode([]byte("["+strings.Repeat("[],", 1<<20)+"[]]"), &into); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("a bomb of an object: %v", err)
	}
}

// An object is given on before the next one has come.
func TestOneObjectIsInMemoryAtATime(t *testing.T) {
	body, server := io.Pipe()
	given := make(chan struct{})
	go func() {
		for _, part := range []string{`{"items":[{"a":1}`, `,{"a":2}`, `]}`} {
			_, _ = io.WriteString(server, part)
			if part != `]}` {
				<-given
			}
		}
		_ = server.Close()
	}()
	if _, err := read(body, func([]byte) error { given <- struct{}{}; return nil }); err != nil {
		t.Fatal(err)
	}
}

// FuzzPage reads any text as a page, and each object of it.
func FuzzPage(f *testing.F) {
	for _, text := range []string{"", "{}", `{"items":[{},{}],"metadata":{"continue":"c"}}`, `{"items":` + strings.Repeat("[", 300), `{"items":[` + strings.Repeat("{},", 3000) + `{}]}`, `{"items":[{"a":` + strings.Repeat("[", 200)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		bytes := taken.By(func() {
			_, _ = read(strings.NewReader(string(text)), func(object []byte) error {
				var into any
				_ = bounded.JSON(object, &into, 64<<10)
				return nil
			})
		})
		if bytes > 1<<20+1024*len(text) {
			t.Errorf("%d bytes take %d", len(text), bytes)
		}
	})
}
