package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

var resetLink = regexp.MustCompile(`https?://\S+/login/reset\?token=\S+`)

// SetPassword opens the link in what `axle-hub admin reset` printed, as a person does in
// a browser, and sets a password.
func SetPassword(ctx context.Context, web *http.Client, printed, password string) error {
	link := resetLink.FindString(printed)
	if link == "" {
		return fmt.Errorf("axle-hub admin reset prints no link: %s", printed)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := *web
	browser.Jar = jar
	at, err := url.Parse(link)
	if err != nil {
		return err
	}
	form, err := text(ctx, &browser, http.MethodGet, link, nil)
	if err != nil {
		return err
	}
	found := formToken.FindStringSubmatch(form)
	if found == nil {
		return errors.New("the reset page has no form: is the link used up?")
	}
	values := url.Values{"csrf": {found[1]}, "token": {at.Query().Get("token")}, "password": {password}, "again": {password}}
	at.RawQuery = ""
	_, err = text(ctx, &browser, http.MethodPost, at.String(), values)
	return err
}

func text(ctx context.Context, web *http.Client, method, to string, form url.Values) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, to, nil)
	if err != nil {
		return "", err
	}
	if form != nil {
		request.Body = io.NopCloser(strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := web.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s answers %s: %.500s", method, request.URL.Path, response.Status, body)
	}
	return string(body), err
}
