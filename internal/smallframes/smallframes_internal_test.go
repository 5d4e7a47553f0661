package smallframes

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

// largest notes the largest write.
type largest struct {
	*httptest.ResponseRecorder
	most int
}

func (l *largest) Write(p []byte) (int, error) {
	l.most = max(l.most, len(p))
	return l.ResponseRecorder.Write(p)
}

func TestHTTP2AnswersLeaveInSmallFrames(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 5000)
	for name, test := range map[string]struct{ major, most int }{"2": {2, frameBytes}, "1.1": {1, len(body)}} {
		t.Run(name, func(t *testing.T) {
			w := &largest{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.ProtoMajor = test.major
			Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n, err := w.Write(body); n != len(body) || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			}), func(string) bool { return false }).ServeHTTP(w, r)
			if w.most != test.most || !w.Flushed || !bytes.Equal(w.Body.Bytes(), body) {
				t.Errorf("the largest write had %d bytes, want %d; flushed %v", w.most, test.most, w.Flushed)
			}
		})
	}
}
