package shape

import (
	"net/url"
	"regexp"
	"time"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// formats check that a text can be parsed as what its description names.
var formats = map[object.Format]func(text string) error{
	object.Cron: cron, object.Duration: Duration, object.TimeZone: zone, object.Expression: expression,
	object.Liquid: template, object.Email: mailbox, object.URL: address,
}

func invalid(format string, args ...any) error { return errcode.New(errcode.Invalid, format, args...) }

func mailbox(text string) error {
	if address, ok := email.Parse(text); !ok || address != text {
		return invalid("%.80q is not an e-mail address in ASCII; users are identified by one", text)
	}
	return nil
}

func address(text string) error {
	if parsed, err := url.Parse(text); err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return invalid("%.200q is not a URL such as https://issuer.example.com", text)
	}
	return nil
}

func cron(text string) error {
	if _, err := syncwindow.ParseSchedule(text); err != nil {
		return invalid("%.80q is no cron schedule: %v", text, err)
	}
	return nil
}

// Duration checks a duration of more than nothing.
func Duration(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d <= 0 {
		return invalid("%.80q is not a duration such as 1h30m", text)
	}
	return nil
}

func zone(text string) error {
	if _, err := time.LoadLocation(text); err != nil {
		return invalid("%.80q is not a time zone such as Europe/Berlin", text)
	}
	return nil
}

func expression(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return invalid("%.200q is not a regular expression (RE2): %v", text, err)
	}
	return nil
}

// template checks Liquid of a text that the hub renders for each cluster.
func template(text string) error {
	if err := liquid.New(nil, time.Time{}).Check([]byte(text)); err != nil {
		return invalid("%.200q is no Liquid: %v", text, err)
	}
	return nil
}
