package podlogs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/podlogs"
	"github.com/axle-cd/axle/internal/errcode"
)

// api answers as an API server does; a double for faults and for what is asked.
// The real one is in test/world.
type api struct {
	// logs are texts by "pod container"; a text "400 …" or "403 …" is an error.
	logs  map[string]string
	asked []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, isLog := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/base/api/v1/namespaces/shop/pods/"), "/log")
	text, ok := "", false
	if isLog {
		a.asked = append(a.asked, r.URL.RawQuery)
		text, ok = a.logs[pod+" "+r.URL.Query().Get("container")]
	} else if pod != "gone" {
		text, ok = `{"spec":{"initContainers":[{"name":"init"}],"containers":[{"name":"main"},{"name":"proxy"}]}}`, true
	}
	status := http.StatusOK
	if !ok {
		status, text = http.StatusNotFound, "404 not found"
	}
	for _, code := range []int{400, 403} {
		if strings.HasPrefix(text, fmt.Sprint(code, " ")) {
			status = code
		}
	}
	w.WriteHeader(status)
	if status != http.StatusOK {
		text = fmt.Sprintf(`{"kind":"Status","message":%q}`, text[4:])
	}
	_, _ = io.WriteString(w, text)
}

func read(t *testing.T, a *api, o podlogs.Options, pods ...string) (out, errs string, err error) {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	var all []podlogs.Pod
	for _, p := range pods {
		all = append(all, podlogs.Pod{Namespace: "shop", Name: p})
	}
	var to, notes bytes.Buffer
	r := podlogs.Reader{HTTP: server.Client(), Server: server.URL + "/base", Out: &to, Err: &notes, Options: o}
	err = r.Read(t.Context(), all)
	return to.String(), notes.String(), err
}

func TestEveryContainerIsNamed(t *testing.T) {
	a := &api{logs: map[string]string{"a main": "one\ntwo", "a proxy": "400 container \"proxy\" is waiting to start", "b main": "three\n", "b proxy": ""}}
	out, errs, err := read(t, a, podlogs.Options{Tail: -1}, "a", "gone", "b")
	if want := "a main | one\na main | two\nb main | three\n"; err != nil || out != want {
		t.Errorf("%v\n%s, want\n%s", err, out, want)
	}
	if !strings.Contains(errs, `waiting to start`) || strings.Count(errs, "\n") != 1 {
		t.Errorf("noted %q", errs)
	}
}

func TestOneLogHasNoLabels(t *testing.T) {
	a := &api{logs: map[string]string{"a init": strings.Repeat("x", 100<<10) + "\n"}}
	out, _, err := read(t, a, podlogs.Options{Container: "init", Tail: 20, Follow: true, Timestamps: true, Previous: true, Since: 90e9}, "a")
	if err != nil || strings.Trim(out, "x\n") != "" || strings.Count(out, "x") != 100<<10 || strings.Count(out, "\n") != 2 {
		t.Errorf("%v, %d bytes", err, len(out))
	}
	if want := "container=init&follow=true&previous=true&sinceSeconds=90&tailLines=20&timestamps=true"; len(a.asked) != 1 || a.asked[0] != want {
		t.Errorf("asked %q, want %q", a.asked, want)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	many := make([]string, 26) // of two containers each
	for i := range many {
		many[i] = fmt.Sprintf("p%d", i)
	}
	for name, tc := range map[string]struct {
		o    podlogs.Options
		pods []string
		code errcode.Code
		want string
	}{
		"no such container": {podlogs.Options{Container: "sidecar"}, []string{"a"}, errcode.NotFound, "the containers are: init, main, proxy"},
		"not permitted":     {podlogs.Options{}, []string{"a"}, errcode.Forbidden, "pods/log is forbidden"},
		"too many":          {podlogs.Options{Follow: true}, many, errcode.Exhausted, "52 logs"},
	} {
		_, _, err := read(t, &api{logs: map[string]string{"a main": "403 pods/log is forbidden"}}, tc.o, tc.pods...)
		if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s and %q", name, err, tc.code, tc.want)
		}
	}
}
