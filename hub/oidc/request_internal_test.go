package oidc

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzForms reads forms of strangers as the endpoints of applications do: a form that is taken
// has few parameters, each once.
func FuzzForms(f *testing.F) {
	f.Add("grant_type=authorization_code&code=a&client_id=app_x&client_secret=s", "")
	f.Add("client_id=a&client_id=b", "Basic YTpi")
	f.Add(strings.Repeat("a=&", 100), "Basic ")
	f.Add("client_id=%zz;client_secret", "Bearer x")
	f.Fuzz(func(t *testing.T, body, authorization string) {
		r := httptest.NewRequest(http.MethodPost, Path+"/token", strings.NewReader(body))
		r.Header["Content-Type"], r.Header["Authorization"] = []string{"application/x-www-form-urlencoded"}, []string{authorization}
		if r.ParseForm() != nil || single(r.PostForm) != nil {
			return
		}
		if len(r.PostForm) > maxParameters {
			t.Errorf("%d parameters are taken", len(r.PostForm))
		}
		for name, values := range r.PostForm {
			if len(values) != 1 {
				t.Errorf("%s stands %d times", name, len(values))
			}
		}
		if _, _, err := credentials(r); err != nil {
			return
		}
		if _, _, shown := r.BasicAuth(); r.PostForm.Get("client_secret") != "" && !shown {
			t.Error("a secret of the form is not where the library reads it")
		}
	})
}
