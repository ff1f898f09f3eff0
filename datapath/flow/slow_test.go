package flow

import (
	"testing"
	"time"
)

func TestDeadlinesOnSlowMachines(t *testing.T) {
	for _, row := range []struct {
		within time.Duration
		factor float64
		want   time.Duration
	}{
		{time.Second, 1, time.Second},
		{time.Second, 2.5, 2500 * time.Millisecond},
		{2 * time.Second, 2.5, 2900 * time.Millisecond}, // still before the kernel gives up
		{2950 * time.Millisecond, 2.5, 2950 * time.Millisecond},
		{4 * time.Second, 2.5, 10 * time.Second},
	} {
		if got := Stretched(row.within, row.factor); got != row.want {
			t.Errorf("%v × %v is %v, want %v", row.within, row.factor, got, row.want)
		}
	}
}

func TestTimeScale(t *testing.T) {
	for value, want := range map[string]float64{"": 1, "2.5": 2.5, "0": 1, "-3": 1, "many": 1, "1e9": 1} {
		t.Setenv(scaleVariable, value)
		if got := TimeScale(); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}
