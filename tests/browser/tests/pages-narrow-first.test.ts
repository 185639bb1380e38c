import { testPages } from '../support/everyPage';

testPages(0, 'phone', 'desktop');
