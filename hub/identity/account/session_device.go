package account

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// deviceLifetime is how long a person has to type the code.
	deviceLifetime = 10 * time.Minute
	// deviceInterval is how long a command line waits between polls. Each poll
	// that comes sooner adds as much again, up to deviceSlowest.
	deviceInterval = 5 * time.Second
	deviceSlowest  = time.Minute
	// devicesPerSource and maxDevices limit what unauthenticated clients can make
	// the hub store. Beyond the second, the source with the most loses its oldest.
	devicesPerSource = 20
	maxDevices       = 2000
	// codeLetters are letters that are not easily confused and spell no word.
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	// codeLength of 20 letters gives 34 bits, for 10 min, behind a session and
	// a rate limit.
	codeLength = 8
)

// DevicePhase is the progress of a device login.
type DevicePhase string

// The phases of a device login.
const (
	DevicePending  DevicePhase = "pending"
	DeviceSlowDown DevicePhase = "slow_down"
	DeviceDenied   DevicePhase = "denied"
	DeviceExpired  DevicePhase = "expired"
	DeviceDone     DevicePhase = "done"
)

// StartedDevice is the answer to a command line that starts a device login.
type StartedDevice struct {
	Device
	// Code is what it polls with.
	Code string
}

// StartDevice begins a login for a command line without a browser. Anybody may
// call it: it gives no access until a person agrees.
func (ss *sessions) StartDevice(ctx context.Context, source string, r CLIRequest) (StartedDevice, error) {
	r, err := r.Check()
	if err != nil {
		return StartedDevice{}, err
	}
	code, now := bearertoken.New(), ss.now()
	hash := bearertoken.Hash(code)
	started := StartedDevice{Code: code, Device: Device{
		Hash: hash[:], Client: r.Client, Source: cut(source, identity.MaxName), Scopes: r.Scopes, Lifetime: r.Lifetime.Microseconds(),
		Interval: deviceInterval.Microseconds(), CreatedAt: now, ExpiresAt: now + deviceLifetime.Microseconds(),
	}}
	err = ss.writer.Write(ctx, func(ctx context.Context) error {
		all, own, err := ss.stores.DeviceCounts.CountDevices(ctx, started.Source, now)
		if err != nil {
			return err
		}
		if own >= devicesPerSource {
			return errcode.New(errcode.Exhausted, "%d logins from %s are already waiting for their codes; finish one, or try again in %d min", own, started.Source, int(deviceLifetime.Minutes())).After(time.Minute)
		}
		if all >= maxDevices {
			if err := ss.stores.DeviceCounts.DropBusiestDevice(ctx, now); err != nil {
				return err
			}
		}
		started.UserCode = newUserCode()
		return ss.stores.Devices.InsertDevice(ctx, started.Device)
	})
	return started, err
}

// newUserCode draws letters with equal probability.
func newUserCode() string {
	code := make([]byte, 0, codeLength)
	for len(code) < codeLength {
		var random [codeLength]byte
		rand.Read(random[:]) // never fails
		for _, r := range random {
			if fair := 256 - 256%len(codeLetters); int(r) < fair && len(code) < codeLength {
				code = append(code, codeLetters[int(r)%len(codeLetters)])
			}
		}
	}
	return string(code)
}

// ParseUserCode returns a code in its stored form, from what a person typed:
// upper case, without the dashes and spaces that make it readable. Invalid.
func ParseUserCode(typed string) (string, error) {
	if len(typed) > 64 {
		return "", errNoDevice
	}
	code := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, strings.ToUpper(typed))
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return "", errNoDevice
	}
	return code, nil
}

// ShowUserCode returns a code in the form for people.
func ShowUserCode(code string) string {
	if len(code) != codeLength {
		return code
	}
	return code[:codeLength/2] + "-" + code[codeLength/2:]
}

var errNoDevice = errcode.New(errcode.NotFound, "no login is waiting for this code; check the terminal again, a code is valid for 10 minutes")

// DeviceByCode returns the login that waits for a code that a person typed.
func (ss *sessions) DeviceByCode(ctx context.Context, typed string) (Device, error) {
	code, err := ParseUserCode(typed)
	if err != nil {
		return Device{}, err
	}
	device, err := ss.stores.Devices.DeviceByUserCode(ctx, code)
	if err != nil || ss.now() >= device.ExpiresAt || device.UserID != "" || device.Denied {
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return Device{}, err
		}
		return Device{}, errNoDevice
	}
	return device, nil
}

// AnswerDevice allows or denies a device login, for the person of a session.
// Allowing may return ErrProve, as AllowCLI does.
func (ss *sessions) AnswerDevice(ctx context.Context, by identity.Principal, typed string, allow bool) (Device, error) {
	if allow {
		if err := ss.directory.ProvedForCLI(ctx, by); err != nil {
			return Device{}, err
		}
	}
	var device Device
	err := ss.writer.Write(ctx, func(ctx context.Context) (err error) {
		if device, err = ss.DeviceByCode(ctx, typed); err != nil {
			return err
		}
		answer := "session.device_denied"
		if device.Denied = !allow; allow {
			device.UserID, device.UserToken = by.ID, by.TokenID
			answer = "session.device_allowed"
		}
		if err := ss.stores.Devices.UpdateDevice(ctx, device); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: answer, Object: "user " + by.Name, By: by.By(), Message: device.Client + " from " + device.Source})
	})
	return device, err
}

// PollDevice returns the phase of a command line's login, and the token once a
// person agreed. The second value is how long to wait until the next poll.
func (ss *sessions) PollDevice(ctx context.Context, code string) (DevicePhase, time.Duration, identity.CreatedToken, error) {
	if !strings.HasPrefix(code, bearertoken.Prefix) {
		return DeviceExpired, 0, identity.CreatedToken{}, nil
	}
	hash := bearertoken.Hash(code)
	device, err := ss.stores.Devices.Device(ctx, hash[:])
	now := ss.now()
	switch {
	case errcode.Is(err, errcode.NotFound):
		return DeviceExpired, 0, identity.CreatedToken{}, nil
	case err != nil:
		return "", 0, identity.CreatedToken{}, err
	case now >= device.ExpiresAt:
		return DeviceExpired, 0, identity.CreatedToken{}, nil
	case device.Denied:
		return DeviceDenied, 0, identity.CreatedToken{}, nil
	case device.UserID == "":
		return ss.waitOn(ctx, device, now)
	}
	made, err := ss.issueCLI(ctx, device.UserID, device.UserToken, CLIRequest{Client: device.Client, Scopes: device.Scopes, Lifetime: time.Duration(device.Lifetime) * time.Microsecond}, func(ctx context.Context) error {
		if _, err := ss.stores.Devices.Device(ctx, device.Hash); err != nil {
			return err
		}
		return ss.stores.Devices.DeleteDevice(ctx, device.Hash)
	})
	if errcode.Is(err, errcode.NotFound) {
		return DeviceExpired, 0, identity.CreatedToken{}, nil
	}
	return DeviceDone, 0, made, err
}

// waitOn records a poll, and makes a client that polls too often wait longer.
func (ss *sessions) waitOn(ctx context.Context, device Device, now int64) (DevicePhase, time.Duration, identity.CreatedToken, error) {
	phase := DevicePending
	// Allow a tenth less: timers are not exact.
	if early := now-device.PolledAt < device.Interval*9/10; early && device.PolledAt != 0 {
		phase = DeviceSlowDown
		device.Interval = min(device.Interval+deviceInterval.Microseconds(), deviceSlowest.Microseconds())
	}
	err := ss.writer.Write(ctx, func(ctx context.Context) error {
		latest, err := ss.stores.Devices.Device(ctx, device.Hash)
		if err != nil {
			return err
		}
		latest.PolledAt, latest.Interval = now, device.Interval
		return ss.stores.Devices.UpdateDevice(ctx, latest)
	})
	return phase, time.Duration(device.Interval) * time.Microsecond, identity.CreatedToken{}, err
}

// ShowLifetime formats a lifetime for people.
func ShowLifetime(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + " days"
	case d >= 2*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " hours"
	}
	return strconv.Itoa(int(d.Minutes())) + " minutes"
}
