package chassis

import "sync"

// Source of these: the contract of the application. Units: tenths of a retry.
const (
	aRetry   = 10
	mostKept = 100
)

// budget allows one retry in ten calls of an edge, so that a callee in trouble gets little more than its usual load.
type budget struct {
	mutex  sync.Mutex
	tenths int
}

func newBudget() *budget { return &budget{tenths: mostKept} }

func (b *budget) earn() {
	b.mutex.Lock()
	b.tenths = min(b.tenths+1, mostKept)
	b.mutex.Unlock()
}

func (b *budget) spend() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.tenths < aRetry {
		return false
	}
	b.tenths -= aRetry
	return true
}
