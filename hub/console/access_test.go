package console_test

import (
	"bufio"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// expectations reads who may make which call.
func expectations(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open("testdata/access.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) > 0 && words[0] != "#" {
			all[words[0]] = words[1:]
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// calls lists every call of the API, as Service/Method.
func calls() (all []string) {
	services := hubv1.File_hub_v1_hub_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			all = append(all, string(services.Get(i).Name())+"/"+string(methods.Get(j).Name()))
		}
	}
	return all
}

func TestOnlyThoseWhoMayAreLetIn(t *testing.T) {
	b := newBed(t)
	revoked := b.token(t, "read", "write", "admin")
	must(t, b.tokens.Revoke, &hubv1.RevokeTokenRequest{Id: revoked.GetToken().GetId()})
	_, deploy := b.deployToken(t, "edge-1")
	bearers := map[string]string{
		"admin": b.AdminToken, "write": b.token(t, "read", "write").GetSecret(), "read": b.token(t, "read").GetSecret(),
		"deploy": deploy, "revoked": revoked.GetSecret(), "none": "",
	}
	want := expectations(t)
	if len(want) != len(calls()) {
		t.Errorf("testdata/access.txt names %d calls, the API has %d", len(want), len(calls()))
	}
	for _, call := range calls() {
		may, listed := want[call]
		if !listed {
			t.Errorf("%s is not in testdata/access.txt", call)
		}
		for who, bearer := range bearers {
			var headers []string
			if bearer != "" {
				headers = []string{"Authorization", "Bearer " + bearer}
			}
			status, _, text := post(t, b.URL, "/axle.hub.v1."+call, "{}", headers...)
			switch refusal := status == http.StatusUnauthorized || status == http.StatusForbidden; {
			case slices.Contains(may, "anybody"):
				if status != http.StatusBadRequest || !strings.Contains(text, "e-mail") {
					t.Errorf("%s by %s: %d: %s", call, who, status, text)
				}
			case slices.Contains(may, who):
				if refusal || status >= http.StatusInternalServerError {
					t.Errorf("%s by %s: %d: %s", call, who, status, text)
				}
			case who == "none" || who == "revoked":
				if status != http.StatusUnauthorized {
					t.Errorf("%s by %s: %d: %s", call, who, status, text)
				}
			case status != http.StatusForbidden:
				t.Errorf("%s by %s: %d: %s", call, who, status, text)
			}
		}
	}
}
