import { testEveryPage } from '../support/everyPage';

testEveryPage('desktop');
